import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileProblem } from '../../platform/file-problem.ts'
import { makeFolder } from '../../platform/make-folder.ts'
import { StoreError, cannotOpen } from '../shared/store-queries.ts'

/** Whether a user who is neither the owner nor of the group may put another file in the place of one in a folder. */
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

/** The system would not make the folder of a store. */
export function cannotMakeFolder(file: string, cause: unknown): StoreError {
  const remedy = 'or name a file in a folder that this user may write: `store` in the configuration'
  return new StoreError(`the folder of ${file} cannot be made: ${fileProblem(cause)}; ${remedy}`, { cause })
}

/**
 * The one name of a file, so that a second path to it does not lead around its lock. Its folder is there.
 * @throws StoreError when others may replace it
 */
export function realFile(file: string): string {
  const folder = dirname(resolve(file))
  refuseOpenFolder(folder)
  let real: string
  try {
    real = existsSync(file) ? realpathSync(file) : join(realpathSync(folder), basename(file))
  } catch (error) {
    throw cannotOpen(file, error)
  }
  // A link may lead to a folder of other people.
  refuseOpenFolder(dirname(real))
  return real
}

/**
 * Makes the folder of a store.
 * @returns the one name of the file
 * @throws StoreError when it cannot be made, or others may replace what is in it
 */
export function storeFile(file: string): string {
  try {
    makeFolder(dirname(resolve(file)), 0o700)
  } catch (cause) {
    throw cannotMakeFolder(file, cause)
  }
  return realFile(file)
}
