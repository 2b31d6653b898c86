import assert from 'node:assert/strict'

/** Bytes that take the place of a half-open range of a body. An empty range inserts. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
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
export function splicedLength(length: number, splices: readonly Splice[]): number {
  checkOrder(length, splices)
  return splices.reduce((sum, { start, end, bytes }) => sum - (end - start) + bytes.length, length)
}

/** What `spliceBytes` returns, in pieces, of a body that is not at hand as a whole. */
export async function* spliceStream(
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
