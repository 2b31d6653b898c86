import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents. Node's own `recursive` loops for ever below folders such as /proc.
 * @throws Error of the system
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
