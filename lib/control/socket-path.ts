import { relative } from 'node:path'

/** What `sun_path` holds, less its closing zero: 108 bytes on Linux, 104 on macOS and the BSDs. */
const pathBytesMax = process.platform === 'linux' ? 107 : 103

/** Where a running server is reached: beside its store. */
export function socketPath(storeFile: string): string {
  return `${storeFile}.sock`
}

/**
 * The path to hand to the system: the shorter of the absolute and the relative one, since the system allows
 * about a hundred bytes.
 *
 * @throws Error when both are longer than that
 */
export function shortSocketPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  const shorter = Buffer.byteLength(fromHere) < Buffer.byteLength(path) ? fromHere : path
  const bytes = Buffer.byteLength(shorter)
  if (bytes <= pathBytesMax) return shorter
  throw new Error(
    `the control socket ${path} has a path of ${bytes} bytes and the system allows ${pathBytesMax}: ` +
      'put the store into a folder with a shorter path (store: sqlite:FILE in the config)',
  )
}
