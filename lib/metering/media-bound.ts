import { billedSeconds } from '../dialects/openai/transcriptions.ts'
import type { MediaPart } from '../http/media-part.ts'
import { isPricedByPage, isPricedBySecond, type Price } from '../money/price.ts'
import type { Meter } from '../money/usage.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** Limits of media beside their own size. */
export interface MediaBounds {
  readonly price: Price
  readonly providerKind: string
  readonly upstreamModelName: string
  /** The context window: a part that is larger, or of unknown size, is read at most to this limit. */
  readonly windowTokens: number
  readonly framesPerSecond: number
}

/** The most tokens of an image, whatever its size, by the models that scale it down. */
const imageTokensMax: readonly { readonly pattern: RegExp; readonly tokens: number }[] = [
  // https://developers.openai.com/api/docs/guides/images-vision: 2,833 and 5,667 for each of at most 8 tiles.
  { pattern: /^gpt-4o-mini/, tokens: 48_169 },
  // 1,536 patches times 1.62 and 2.46.
  { pattern: /^(?:gpt-4\.1-mini|gpt-5-mini|gpt-4\.1-nano|gpt-5-nano|o4-mini)/, tokens: 3800 },
  { pattern: /^(?:gpt-4|gpt-5(?!\.)|o1|o3)/, tokens: 1500 },
  // 10,000 patches in original detail, times 1.2.
  { pattern: /^gpt-5\./, tokens: 12_000 },
  { pattern: /^(?:gpt-image|chatgpt-image)/, tokens: 6800 },
  // https://platform.claude.com/docs/en/build-with-claude/vision: 1,568 px a side, since Opus 4.7 2,576 px.
  { pattern: /^claude-(?:[23]|(?:opus|sonnet|haiku)-4-(?:[0-6]|20)|(?:opus|sonnet)-4$)/, tokens: 1600 },
  { pattern: /^claude-/, tokens: 4800 },
  // https://ai.google.dev/gemini-api/docs/media-resolution: 2,240 at most.
  { pattern: /^gemini-[3-9]/, tokens: 2240 },
  // https://www.alibabacloud.com/help/en/model-studio/vision: a request may have any image enlarged to this size.
  { pattern: /^(?:qwen|qvq)/i, tokens: 16_400 },
]
/**
 * Other models enlarge small images to tiles, or count this many for each: four of 1,024, or two of 1,600 and the
 * tokens around them.
 */
const imageTokensMin = 4096
/** https://ai.google.dev/gemini-api/docs/image-understanding: tiles of 256 to 768 px, 258 tokens each. */
const tileTokens = 258
/** Other models cut images into patches of at least 14 px. */
const patchPixels = 14

/** Also at resellers: `google/gemini-...`. */
const isGemini = /(?:^|\/)gemini-/

const audioTokensPerSecond = 32
/** No speech codec has a lower rate: AMR at 4.75 kbit/s. */
export const audioBytesPerSecondMin = 590
/** https://ai.google.dev/gemini-api/docs/audio: nine and a half hours. */
const audioSecondsMax = 34_200
/** https://docs.mistral.ai/capabilities/document_ai/basic_ocr: for one document. */
const pagesMax = 1000
const frameTokens = 280
/** The size of a compressed file, such as a document, does not limit its text. */
const plainText = /^(?:text\/|application\/(?:json|xml|javascript|x-ndjson))/

/** The maximum units of a part, in its meter. */
export function mediaBound(part: MediaPart, bounds: MediaBounds): readonly [meter: Meter, units: number] {
  const { windowTokens, price } = bounds
  if (isPricedByPage(price)) return ['pages', pagesOf(part) ?? pagesMax]
  // The audible part of a video is its audio.
  if (isPricedBySecond(price) && (part.kind === 'audio' || part.kind === 'video'))
    return ['audioSeconds', billedSeconds(part.seconds ?? secondsAtMost(part), bounds.providerKind)]
  switch (part.kind) {
    case 'image':
      return ['imageInput', Math.min(windowTokens, imageTokens(part, bounds))]
    case 'audio':
      return ['audioInput', Math.min(windowTokens, secondsAtMost(part) * audioTokensPerSecond)]
    case 'video':
      return ['imageInput', Math.min(windowTokens, videoTokens(part, bounds))]
    case 'document':
    case 'other':
      return ['input', Math.min(windowTokens, documentTokens(part, bounds))]
  }
}

/** The pages of a document, if known; an image counts as one. */
export function pagesOf({ kind, pages }: MediaPart): number | undefined {
  return kind === 'image' ? 1 : pages
}

function imageTokens({ width, height }: MediaPart, { upstreamModelName }: MediaBounds): number {
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1)
  const known = imageTokensMax.find(({ pattern }) => pattern.test(name))
  if (known !== undefined) return known.tokens
  if (width === undefined || height === undefined) return Infinity
  if (name.startsWith('gemini-')) {
    const side = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)))
    return Math.max(1, Math.ceil(width / side) * Math.ceil(height / side)) * tileTokens
  }
  return Math.max(imageTokensMin, (Math.ceil(width / patchPixels) + 1) * Math.ceil(height / patchPixels) + 2)
}

/** The maximum length of audio, in whole seconds. */
function secondsAtMost({ bytes, seconds }: MediaPart): number {
  const byBytes = bytes === undefined ? audioSecondsMax : bytes / audioBytesPerSecondMin
  return Math.ceil(seconds ?? Math.min(audioSecondsMax, byBytes))
}

/** Google's models count a fixed number of tokens per frame; others read frames of the size and rate in the request. */
function videoTokens(
  { seconds }: MediaPart,
  { framesPerSecond, providerKind, upstreamModelName }: MediaBounds,
): number {
  const isOfFrames =
    knownProvider(providerKind).readsVideosByFrame === true || isGemini.test(upstreamModelName)
  if (seconds === undefined || !isOfFrames) return Infinity
  return Math.ceil(seconds * (frameTokens * framesPerSecond + audioTokensPerSecond))
}

function documentTokens(part: MediaPart, { providerKind }: MediaBounds): number {
  const { bytes, pages, declaredType = '', detectedType } = part
  if (bytes !== undefined && detectedType === undefined && plainText.test(declaredType)) return bytes
  const { pageTokens } = knownProvider(providerKind)
  return pageTokens !== undefined && pages !== undefined ? pages * pageTokens : Infinity
}
