import type { RequestBody } from '../bodies/request-body.ts'
import type { MediaPart } from '../http/media-part.ts'

/** What stands in a sample in the place of a part's bytes, so that JSON stays JSON. */
const emptyString = Buffer.from('""')

/** The first bytes of a body without its inline media, as a copy. */
export async function requestText(
  body: RequestBody,
  media: readonly MediaPart[],
  bytesMax: number,
): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  let from = 0
  const add = (piece: Buffer): void => {
    const part = piece.subarray(0, bytesMax - length)
    pieces.push(part)
    length += part.length
  }
  const addText = async (end: number): Promise<void> =>
    add(await body.read(from, Math.min(end - from, bytesMax - length)))
  for (const part of media.toSorted((one, other) => one.bodyStart - other.bodyStart)) {
    if (length >= bytesMax) break
    if (part.bodyStart < from) continue
    await addText(part.bodyStart)
    add(emptyString)
    from = part.bodyStart + part.bodyBytes
  }
  await addText(body.length)
  return Buffer.concat(pieces)
}
