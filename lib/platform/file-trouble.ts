import { accessSync, constants } from 'node:fs'
import { fileProblem } from './file-problem.ts'

/** Why a file cannot be read. */
export interface FileTrouble {
  /** There is none; otherwise it, or a folder on its path, may not be read by this user. */
  readonly isMissing: boolean
  readonly words: string
}

/** Why a file cannot be read; undefined where it can. A folder that may not be entered hides the files in it. */
export function fileTrouble(path: string): FileTrouble | undefined {
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
