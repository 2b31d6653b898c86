import { billedSeconds } from '../dialects/openai/transcriptions.ts'
import type { MediaPart } from '../http/media-part.ts'
import { isPricedByPage, isPricedBySecond, type Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import { pagesOf } from './media-bound.ts'

/** The most tokens of an image as the providers scale it: about 1568 px a side, 28 px a token (wire.md 2.7). */
const imageTokensMax = 1600
/** Google's count for the smallest image. */
const imageTokensMin = 258
const pixelsPerToken = 28
/** Compressed speech, where its length could not be measured. */
const audioBytesPerSecond = 8000
/** Google counts 32 tokens a second of audio and 300 a second of video (wire.md 3.5); others are near. */
const audioTokensPerSecond = 32
const videoTokensPerSecond = 300
const videoBytesPerSecond = 125_000
/** A page of a PDF is read as an image and as text. */
const pageTokens = 2500
const pageBytes = 60_000
/** The size of media given by address or id, which only the provider knows. */
const unknownBytes = 1_048_576

/**
 * The expected usage of a request's media before the provider reports it: the allowance of a hold, and the basis of an
 * estimate if the usage is missing.
 */
export function mediaAllowance(media: readonly MediaPart[], price: Price, providerKind: string): Meters {
  const meters: Meters = {}
  for (const part of media) {
    const [meter, units] = allowanceOf(part, price, providerKind)
    meters[meter] = (meters[meter] ?? 0) + units
  }
  return meters
}

function allowanceOf(
  part: MediaPart,
  price: Price,
  providerKind: string,
): [meter: keyof Meters, units: number] {
  const bytes = part.bytes ?? unknownBytes
  if (isPricedByPage(price)) return ['pages', pagesOf(part) ?? Math.ceil(bytes / pageBytes)]
  if (isPricedBySecond(price) && (part.kind === 'audio' || part.kind === 'video'))
    return [
      'audioSeconds',
      billedSeconds(part.seconds ?? Math.ceil(bytes / audioBytesPerSecond), providerKind),
    ]
  switch (part.kind) {
    case 'image':
      return ['imageInput', imageTokens(part)]
    case 'audio':
      return [
        'audioInput',
        Math.ceil((part.seconds ?? Math.ceil(bytes / audioBytesPerSecond)) * audioTokensPerSecond),
      ]
    case 'video':
      return [
        'imageInput',
        Math.ceil((part.seconds ?? Math.ceil(bytes / videoBytesPerSecond)) * videoTokensPerSecond),
      ]
    case 'document':
    case 'other':
      return ['input', (part.pages ?? Math.ceil(bytes / pageBytes)) * pageTokens]
  }
}

function imageTokens({ width, height }: MediaPart): number {
  if (width === undefined || height === undefined) return imageTokensMax
  const tokens = Math.ceil(width / pixelsPerToken) * Math.ceil(height / pixelsPerToken)
  return Math.min(imageTokensMax, Math.max(imageTokensMin, tokens))
}
