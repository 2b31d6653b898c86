import { zipSync } from 'fflate'
import type { ZippableFile } from 'fflate'
import type { DocumentFile } from './month-files.ts'

/**
 * Files as one archive. The same files of the same day are the same bytes.
 * @param day ISO; the archive knows no time zone
 */
export function zipFiles(files: readonly DocumentFile[], day: string): Uint8Array {
  const mtime = new Date(`${day}T00:00:00`)
  const entries = files.map(({ name, bytes }): [string, ZippableFile] => [
    name,
    // A PDF is compressed within.
    [bytes, { level: name.endsWith('.pdf') ? 0 : 6 }],
  ])
  return zipSync(Object.fromEntries(entries), { mtime })
}
