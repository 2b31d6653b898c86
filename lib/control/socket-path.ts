import { closeSync, openSync } from 'node:fs'
import { basename, dirname, relative } from 'node:path'

/** The size of `sun_path` without its closing zero: 108 bytes on Linux, 104 on macOS and the BSDs. */
const pathBytesMax = process.platform === 'linux' ? 107 : 103

/** The control socket of a running server: beside its store. */
export function socketPath(storeFile: string): string {
  return `${storeFile}.sock`
}

/** A path to a socket that is short enough for the system; valid until it is released. */
interface SocketAddress {
  readonly path: string
  release(): void
}

/**
 * The path for the system calls, which allow about a hundred bytes: the shorter of the absolute and the relative path,
 * or on Linux a path through an open handle of the folder.
 *
 * @throws Error when none is short enough, or the folder does not exist
 */
export function socketAddress(path: string): SocketAddress {
  const fromHere = relative(process.cwd(), path)
  const shorter = fromHere.length < path.length ? fromHere : path
  if (isShort(shorter)) return { path: shorter, release: () => undefined }
  if (process.platform === 'linux') {
    const folder = openSync(dirname(path), 'r')
    const throughHandle = `/proc/self/fd/${folder}/${basename(path)}`
    if (isShort(throughHandle)) return { path: throughHandle, release: () => closeSync(folder) }
    closeSync(folder)
  }
  throw new Error(
    `the control socket ${path} has a path of more than the ${pathBytesMax} bytes that the system allows: ` +
      'give the store a shorter path (store: sqlite:FILE in the config)',
  )
}

function isShort(path: string): boolean {
  return Buffer.byteLength(path) <= pathBytesMax
}
