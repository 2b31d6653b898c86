import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdtempSync,
  realpathSync,
  rmdirSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileProblem } from '../../platform/file-problem.ts'
import { makeFolder } from '../../platform/make-folder.ts'
import { StoreError, cannotOpen } from '../shared/store-queries.ts'
import { lockFileOf, openForReading } from './sqlite-database.ts'
import { openFailure, stepsOf } from './sqlite-prepare.ts'

/** Whether a user who is neither the owner nor in the group may replace a file in a folder. */
function isOpenToOthers(folder: string): boolean {
  const { mode } = statSync(folder)
  const isSticky = (mode & 0o1000) !== 0
  return (mode & 0o002) !== 0 && !isSticky
}

function refuseOpenFolder(folder: string): void {
  if (!isOpenToOthers(folder)) return
  throw new StoreError(
    `every user of this machine may replace the files in ${folder}, and with them the store and its control socket: ` +
      `run chmod o-w ${folder}`,
  )
}

/** The error for a store's folder that cannot be created. */
function cannotMakeFolder(file: string, cause: unknown): StoreError {
  const remedy = 'or name a file in a folder that this user may write: `store` in the configuration'
  return new StoreError(`the folder of ${file} cannot be made: ${fileProblem(cause)}; ${remedy}`, { cause })
}

/**
 * The canonical path of a file, so that a second path to it does not bypass its lock. Its folder must exist.
 * @throws StoreError when others may replace it
 */
function realFile(file: string): string {
  const folder = dirname(resolve(file))
  refuseOpenFolder(folder)
  let real: string
  try {
    real = existsSync(file) ? realpathSync(file) : join(realpathSync(folder), basename(file))
  } catch (error) {
    throw cannotOpen(file, error)
  }
  // A link may lead to a folder of other users.
  refuseOpenFolder(dirname(real))
  return real
}

/**
 * Creates the folder of a store.
 * @returns the canonical path of the file
 * @throws StoreError when it cannot be created, or others may replace what is in it
 */
export function storeFile(file: string): string {
  try {
    makeFolder(dirname(resolve(file)), 0o700)
  } catch (cause) {
    throw cannotMakeFolder(file, cause)
  }
  return realFile(file)
}

/**
 * Checks that a store can be opened or created, as a start would. It leaves nothing behind.
 * @throws StoreError as a start would
 */
export function checkSqliteStore(named: string): void {
  const folder = dirname(resolve(named))
  if (!isThere(folder)) {
    tryFolder(nearestAbove(folder), error => cannotMakeFolder(named, error))
    return
  }
  if (!statSync(folder).isDirectory()) tryFolder(folder, error => cannotMakeFolder(named, error))
  const file = realFile(named)
  const lock = lockFileOf(file)
  tryFolder(dirname(file), error => cannotOpen(lock, error))
  if (existsSync(lock)) tryFile(lock)
  if (existsSync(file)) tryStore(file)
}

/**
 * Only creating something shows what the system allows: for root, permissions say nothing about /sys or a full disk.
 */
function tryFolder(folder: string, refusal: (error: unknown) => Error): void {
  try {
    rmdirSync(mkdtempSync(join(folder, '.gateway-check-')))
  } catch (error) {
    throw refusal(error)
  }
}

function tryFile(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    // The error that opening a folder for writing would report.
    if (statSync(path).isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

function tryStore(file: string): void {
  tryFile(file)
  let database: ReturnType<typeof openForReading> | undefined
  try {
    // An empty file becomes a store.
    if (statSync(file).size === 0) return
    database = openForReading(file)
    stepsOf(database, file)
  } catch (error) {
    throw openFailure(error, file)
  } finally {
    database?.close()
  }
}

function nearestAbove(folder: string): string {
  const above = dirname(folder)
  return above === folder || isThere(above) ? above : nearestAbove(above)
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // Nothing can be created below a folder that may not be entered.
    return false
  }
}
