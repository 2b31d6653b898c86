import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Stats } from 'node:fs'

/** A file could not be written; none of those that were to be written with it was. */
export class UnwritableError extends Error {}

/**
 * Replaces the texts of files: whoever reads one finds the old text or the new one, and all are on disk before the first
 * is replaced. A file keeps its mode and its owner, a link stays one.
 * @param like the file of which those that are not there yet get mode and owner
 * @throws UnwritableError
 */
export function writeAtomically(files: ReadonlyMap<string, string>, like: string): void {
  const partials = new Map<string, string>()
  try {
    for (const [file, text] of files) {
      const found = statSync(file, { throwIfNoEntry: false })
      const target = found === undefined ? file : realpathSync(file)
      const partial = `${target}.${process.pid}.new`
      try {
        writePartial(partial, text, found ?? statSync(like))
      } catch (cause) {
        const reason = (cause as Error).message
        throw new UnwritableError(
          `${file} cannot be written, and nothing was changed: ${reason}. Run the command as a user who may write in ${dirname(target)}`,
          { cause },
        )
      }
      partials.set(target, partial)
    }
    for (const [target, partial] of partials) renameSync(partial, target)
  } finally {
    for (const partial of partials.values()) rmSync(partial, { force: true })
  }
}

/** @throws Error of the system; then there is no such file, or it is somebody else's */
function writePartial(partial: string, text: string, { mode, uid, gid }: Stats): void {
  const descriptor = openSync(partial, 'wx', 0o600)
  try {
    const made = fstatSync(descriptor)
    if (made.uid !== uid || made.gid !== gid) fchownSync(descriptor, uid, gid)
    // The mask of the process does not narrow this.
    fchmodSync(descriptor, mode & 0o777)
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}
