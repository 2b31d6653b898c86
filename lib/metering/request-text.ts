import type { MediaPart } from '../http/media-part.ts'

/** What stands in a sample in the place of a part's bytes, so that JSON stays JSON. */
const emptyString = Buffer.from('""')

/** The first bytes of a body without its inline media, as a copy. */
export function requestText(body: Buffer, media: readonly MediaPart[], bytesMax: number): Buffer {
  if (media.length === 0) return Buffer.from(body.subarray(0, bytesMax))
  const pieces: Buffer[] = []
  let length = 0
  let from = 0
  const add = (piece: Buffer): void => {
    const part = piece.subarray(0, bytesMax - length)
    pieces.push(part)
    length += part.length
  }
  for (const part of media.toSorted((one, other) => one.bodyStart - other.bodyStart)) {
    if (length >= bytesMax) break
    if (part.bodyStart < from) continue
    add(body.subarray(from, part.bodyStart))
    add(emptyString)
    from = part.bodyStart + part.bodyBytes
  }
  add(body.subarray(from))
  return Buffer.concat(pieces)
}
