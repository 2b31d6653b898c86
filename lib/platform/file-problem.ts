import { accessSync, constants } from 'node:fs'

const forbidden = 'this user may not: run the command as a user who may, or change the rights'
/** What an operator can do about the most common failures of files. */
const words: ReadonlyMap<string, string> = new Map([
  ['EACCES', forbidden],
  ['EPERM', forbidden],
  ['EEXIST', 'a part of its path is a file: check the path'],
  ['EISDIR', 'it is a folder: name a file'],
  ['EROFS', 'its disk is read-only: name a file elsewhere'],
  ['ENAMETOOLONG', 'its name is too long: choose a shorter one'],
  ['ENOENT', 'there is no such file or folder: check the path'],
  ['ENOSPC', 'its disk is full: make room there, or name a file elsewhere'],
  ['ENOTDIR', 'a part of its path is a file: check the path'],
  ['SQLITE_FULL', 'its disk is full: make room there, or name a file elsewhere'],
])

/** Why a file cannot be read or written, and what to do; otherwise the system's message. */
export function fileProblem(error: unknown): string {
  const known = error instanceof Error && 'code' in error ? words.get(String(error.code)) : undefined
  return known ?? (error instanceof Error ? error.message : String(error))
}

/** Why a file cannot be read. */
interface ReadProblem {
  /** The file does not exist; otherwise this user may not read it or a folder on its path. */
  readonly isMissing: boolean
  readonly words: string
}

/** Why the file at a path cannot be read; undefined where it can. A folder without access hides the files in it. */
export function readProblem(path: string): ReadProblem | undefined {
  try {
    accessSync(path, constants.R_OK)
    return undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) {
      return { isMissing: true, words: `there is no file ${path}` }
    }
    return { isMissing: false, words: `${path} cannot be read: ${fileProblem(error)}` }
  }
}
