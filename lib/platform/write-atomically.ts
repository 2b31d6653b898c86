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

/** A file could not be written; none of the files of the same call was. */
export class UnwritableError extends Error {}

/**
 * Replaces the texts of files: a reader finds either the old text or the new one, and all new texts are on disk before
 * the first file is replaced. A file keeps its mode and its owner, a link stays one.
 * @param like the file whose mode and owner new files get
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

/** @throws Error of the system; then the file does not exist, or belongs to another process */
function writePartial(partial: string, text: string, { mode, uid, gid }: Stats): void {
  const descriptor = openSync(partial, 'wx', 0o600)
  try {
    const made = fstatSync(descriptor)
    if (made.uid !== uid || made.gid !== gid) fchownSync(descriptor, uid, gid)
    // Unlike the mode of open, this one is not narrowed by the umask.
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
