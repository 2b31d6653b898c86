import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { BodyFailedError, type StreamedBody } from './client-stream.ts'
import { countPassed } from '../platform/collect-garbage.ts'

/**
 * A request's body, or its decoded content: whole, and readable until its exchange has ended. A short one is in memory,
 * a long one in an unlinked file.
 */
export interface RequestBody {
  readonly length: number
  /** The whole body, where it is in memory. */
  readonly bytes: Buffer | undefined
  /** Its first bytes: the whole body where it is in memory, else at least 64 KB. */
  readonly head: Buffer
  /**
   * A copy or a view of `length` bytes from `position` on; fewer where the body ends earlier.
   * @throws Error when the file cannot be read, or the body is closed
   */
  read(position: number, length: number): Promise<Buffer>
}

/** A body in memory. */
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

/** The bytes from `start` up to `end`, in pieces small enough for memory. */
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

/** The body for a provider: bytes in memory, a file with its splices, or a stream that can be sent once. */
export type OutgoingBody = Buffer | SplicedBody | StreamedBody

/** Bytes that replace a half-open range of a body. An empty range inserts. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
}

/** A body in a file on its way to a provider, with some ranges replaced. It can be sent again. */
class SplicedBody {
  readonly length: number
  readonly #body: RequestBody
  readonly #splices: readonly Splice[]

  constructor(body: RequestBody, splices: readonly Splice[]) {
    this.length = splicedLength(body.length, splices)
    this.#body = body
    this.#splices = splices
  }

  /** The bytes, for one attempt. */
  open(): Readable {
    const body = this.#body
    const pieces = spliceStream(body.length, this.#splices, (start, end) => bodyPieces(body, start, end))
    return Readable.from(failingAsBody(pieces), { objectMode: false, highWaterMark: 65_536 })
  }
}

async function* failingAsBody(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces
  } catch (error) {
    throw new BodyFailedError(error as Error)
  }
}

/** The body with its splices applied: in memory, or while its file is read. */
export function outgoingBody(body: RequestBody, splices: readonly Splice[]): OutgoingBody {
  return body.bytes === undefined ? new SplicedBody(body, splices) : spliceBytes(body.bytes, splices)
}

/** Whether an attempt has consumed the body, so that no other can follow. */
export function isSpent(body: OutgoingBody | undefined): boolean {
  return body !== undefined && 'isTaken' in body && body.isTaken
}

/**
 * The body with some ranges replaced and the rest unchanged.
 * @throws AssertionError when the splices are not in order, overlap, or reach beyond the body
 */
export function spliceBytes(body: Buffer, splices: readonly Splice[]): Buffer {
  if (splices.length === 0) return body
  checkOrder(body.length, splices)
  const pieces: Buffer[] = []
  let kept = 0
  for (const { start, end, bytes } of splices) {
    pieces.push(body.subarray(kept, start), bytes)
    kept = end
  }
  pieces.push(body.subarray(kept))
  return Buffer.concat(pieces)
}

/**
 * The length of a body with its splices applied.
 * @throws AssertionError as `spliceBytes` does
 */
function splicedLength(length: number, splices: readonly Splice[]): number {
  checkOrder(length, splices)
  return splices.reduce((sum, { start, end, bytes }) => sum - (end - start) + bytes.length, length)
}

/** The result of `spliceBytes`, in pieces, for a body that is not in memory as a whole. */
async function* spliceStream(
  length: number,
  splices: readonly Splice[],
  read: (start: number, end: number) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let kept = 0
  for (const { start, end, bytes } of splices) {
    yield* read(kept, start)
    if (bytes.length > 0) yield bytes
    kept = end
  }
  yield* read(kept, length)
}

function checkOrder(length: number, splices: readonly Splice[]): void {
  let kept = 0
  for (const { start, end } of splices) {
    assert(start >= kept && end >= start && end <= length, `splice ${start}-${end} is out of order`)
    kept = end
  }
}

/** A JSON string with its quotes. Lone surrogates are escaped, so the bytes are always valid UTF-8. */
export function jsonStringBytes(value: string): Buffer {
  return Buffer.from(JSON.stringify(value))
}
