import {
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'

/** Replaces a file's text in one go: whoever reads it finds the old text or the new one. Its mode stays. */
export function writeAtomically(file: string, text: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  // A link stays one.
  const target = found === undefined ? file : realpathSync(file)
  const partial = `${target}.${process.pid}.new`
  try {
    const descriptor = openSync(partial, 'wx', found === undefined ? 0o644 : found.mode & 0o777)
    try {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(partial, target)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}
