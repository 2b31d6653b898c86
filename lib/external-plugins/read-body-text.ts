import { bodyPieces, type RequestBody } from '../bodies/request-body.ts'
import type { MediaPart } from '../http/media-part.ts'
import { Base64Source } from '../media/base64-source.ts'
import { MediaBudget } from '../media/media-reader.ts'
import type { TextPieces } from './text-pieces.ts'

const pieceBytes = 49_152
const textTypes = /^(?:text\/|application\/(?:json|xml|rtf|yaml|javascript))|\+(?:json|xml)$/

/** Reads a body as text, and what stands in it as documents of text in base64, which hide what they say. */
export async function readBodyText(
  content: RequestBody,
  media: readonly MediaPart[],
  text: TextPieces,
): Promise<void> {
  for await (const piece of bodyPieces(content)) text.push(piece)
  const budget = new MediaBudget()
  for (const part of media) {
    const { bytes, encoding, declaredType = '', bodyStart, bodyBytes } = part
    if (bytes === undefined || encoding === undefined || !textTypes.test(declaredType)) continue
    text.end()
    const isDataUrl = encoding === 'dataUrl'
    const place = { start: bodyStart, end: bodyStart + bodyBytes, bytes, isDataUrl }
    const source = new Base64Source(content, place, budget)
    for (let position = 0; position < bytes; position += pieceBytes) {
      text.push(await source.read(position, pieceBytes))
    }
  }
}
