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
  const pieces: Buffer[] = []
  let kept = 0
  for (const { start, end, bytes } of splices) {
    assert(start >= kept && end >= start && end <= body.length, `splice ${start}-${end} is out of order`)
    pieces.push(body.subarray(kept, start), bytes)
    kept = end
  }
  pieces.push(body.subarray(kept))
  return Buffer.concat(pieces)
}

/** A JSON string with its quotes. Lone surrogates are escaped, so the bytes are always valid UTF-8. */
export function jsonStringBytes(value: string): Buffer {
  return Buffer.from(JSON.stringify(value))
}
