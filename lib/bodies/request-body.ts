import { countPassed } from '../platform/collect-garbage.ts'

/**
 * A request's body, or what it decodes to: whole, and readable until its exchange has ended. A short one
 * stands in memory, a long one in a file that has no name.
 */
export interface RequestBody {
  readonly length: number
  /** All of it, where it stands in memory. */
  readonly bytes: Buffer | undefined
  /** Its first bytes: all that stands in memory, else at least 64 KB. */
  readonly head: Buffer
  /**
   * A copy or a view of `length` bytes from `position` on; fewer where the body ends before.
   * @throws Error when the file cannot be read, or the body was closed
   */
  read(position: number, length: number): Promise<Buffer>
}

/** A body that stands in memory. */
export function memoryBody(bytes: Buffer): RequestBody {
  return {
    length: bytes.length,
    bytes,
    head: bytes,
    read: (position, length) => Promise.resolve(bytes.subarray(position, position + length)),
  }
}

/** How much of a body in a file is read at once. */
const pieceBytes = 65_536

/** The bytes from `start` up to `end`, in pieces that are good for memory. */
export async function* bodyPieces(body: RequestBody, start = 0, end = body.length): AsyncGenerator<Buffer> {
  let position = start
  while (position < end) {
    const piece = await body.read(position, Math.min(pieceBytes, end - position))
    if (piece.length === 0) throw new Error(`A body of ${body.length} bytes ended at ${position}.`)
    position += piece.length
    countPassed(piece.length)
    yield piece
  }
}
