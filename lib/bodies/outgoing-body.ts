import { Readable } from 'node:stream'
import { BodyFailedError, type StreamedBody } from './client-stream.ts'
import { bodyPieces, type RequestBody } from './request-body.ts'
import assert from 'node:assert/strict'

/** What goes to a provider: bytes at hand, a file with its splices, or a stream that can be sent once. */
export type OutgoingBody = Buffer | SplicedBody | StreamedBody

/** Bytes that take the place of a half-open range of a body. An empty range inserts. */
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

/** The body with its splices made: in memory, or on the way out of its file. */
export function outgoingBody(body: RequestBody, splices: readonly Splice[]): OutgoingBody {
  return body.bytes === undefined ? new SplicedBody(body, splices) : spliceBytes(body.bytes, splices)
}

/** Whether an attempt has used the body up, so that no other can follow. */
export function isSpent(body: OutgoingBody | undefined): boolean {
  return body !== undefined && 'isTaken' in body && body.isTaken
}

/**
 * The body with some ranges replaced and all else as it was.
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
 * How long a body is with its splices made.
 * @throws AssertionError as `spliceBytes` does
 */
function splicedLength(length: number, splices: readonly Splice[]): number {
  checkOrder(length, splices)
  return splices.reduce((sum, { start, end, bytes }) => sum - (end - start) + bytes.length, length)
}

/** What `spliceBytes` returns, in pieces, of a body that is not at hand as a whole. */
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
