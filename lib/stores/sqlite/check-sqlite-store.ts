import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { cannotOpen } from '../shared/store-queries.ts'
import { lockFileOf, openForReading } from './sqlite-database.ts'
import { openFailure, stepsOf } from './sqlite-prepare.ts'
import { cannotMakeFolder, realFile } from './store-file.ts'

/**
 * Makes sure that a store can be opened or made, as a start does it, and leaves nothing behind.
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

/** Only making something shows what the system allows: to root, rights say nothing of /sys or of a full disk. */
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
    // As opening a folder to write it would say.
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
    // Below a folder that may not be entered nothing can be made either.
    return false
  }
}
