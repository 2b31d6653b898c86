import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Makes a folder and those above it, for their owner. Node's own `recursive` never ends below folders such as /proc. */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(folder)) throw error
  }
}

/** Whether a user who is neither the owner nor of the group may put another file in the place of one in a folder. */
export function isOpenToOthers(folder: string): boolean {
  const { mode } = statSync(folder)
  const isSticky = (mode & 0o1000) !== 0
  return (mode & 0o002) !== 0 && !isSticky
}
