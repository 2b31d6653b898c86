import type { RequestBody } from '../bodies/outgoing-body.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { imageTokens } from '../dialects/openai/drawing-tool.ts'
import { type Price, ratesOf, unitRate } from '../money/price.ts'
import type { Tokenizer } from '../providers/known-provider.ts'
import { knownProvider } from '../providers/known-providers.ts'
import { openaiTokenizer } from '../providers/openai.ts'
import { addMeters, type Meters, type UsageLine, type UsageReading } from '../money/usage.ts'
import type { TextToCount, TokenCount } from './count-tokens.ts'
import { lineOf } from '../dialects/measure.ts'
import { bytesPerToken } from '../http/text-density.ts'
import { mediaAllowance } from './media-allowance.ts'
import type { MediaPart } from '../http/media-part.ts'

/** A token counter; `count` returns undefined if it could not finish in time. */
export interface CountsTokens {
  count(text: TextToCount): Promise<TokenCount | undefined>
}

/** The request's part of an estimate. */
export interface EstimatedRequest {
  readonly facts: RequestFacts
  readonly price: Price
  /** The body if it is JSON and not compressed. */
  readonly json: RequestBody | undefined
  readonly providerKind: string
  /** The model writes a response, so the request is wrapped into a conversation. */
  readonly isGeneration: boolean
}

/** A number of tokens that no provider reported. */
export interface Estimate {
  readonly tokens: number
  /** Counted by tiktoken; otherwise derived from the length of the text. */
  readonly isCounted: boolean
}

interface UsageEstimate {
  readonly line: UsageLine
  readonly estimates: readonly Estimate[]
}

/** The part of a request that is counted; the rest of a longer one is estimated by its length. */
const promptBytesMax = 262_144

/** Tokens of a spoken character: the ratio of OpenAI's prices for the two. */
const speechTokensPerCharacter = 1.25

/** Replaces a part's bytes in a sample, so that the JSON stays valid. */
const emptyString = Buffer.from('""')

function byLength(bytes: number): Estimate {
  return { tokens: Math.ceil(bytes / bytesPerToken), isCounted: false }
}

/** A provider's tokenizer, by the provider's kind; OpenAI's if none is known. */
function tokenizerOf(providerKind: string): Tokenizer {
  return knownProvider(providerKind).tokenizer ?? openaiTokenizer
}

/** Tokens of the delivered text that no reported usage covers. */
export async function estimateOutput(
  { providerKind }: EstimatedRequest,
  { unmeteredTextBytes, textSample }: UsageReading,
  counter: CountsTokens,
): Promise<Estimate> {
  if (textSample === undefined || unmeteredTextBytes === 0) return byLength(unmeteredTextBytes)
  const { bytes, isEscaped } = textSample
  const count = await counter.count({ form: isEscaped ? 'escaped' : 'plain', bytes })
  if (count === undefined) return byLength(unmeteredTextBytes)
  const tokens = count.text * tokenizerOf(providerKind).factor * (unmeteredTextBytes / bytes.length)
  return { tokens: Math.ceil(tokens), isCounted: true }
}

/** Tokens of the request's input, without media. */
export async function estimateInput(
  { facts, json, providerKind, isGeneration }: EstimatedRequest,
  counter: CountsTokens,
): Promise<Estimate> {
  if (json === undefined || json.length === 0) return byLength(facts.textBytes)
  const sample = await requestText(json, facts.media, promptBytesMax)
  const count = await counter.count({ form: 'prompt', bytes: sample })
  if (count === undefined) return byLength(facts.textBytes)
  const { factor, perMessage, perRequest, forTools, definitions } = tokenizerOf(providerKind)
  const scale = Math.max(1, facts.textBytes / sample.length)
  const text = (count.text + count.definitions * definitions) * factor * scale
  const around =
    perRequest + perMessage * Math.max(1, count.messages) + (count.definitions > 0 ? forTools : 0)
  return { tokens: Math.ceil(text + (isGeneration ? around : 0)), isCounted: true }
}

/**
 * The estimated usage of a response without usage: its text, the context that it continued from, and the units of the
 * request.
 */
export async function estimateUsage(
  request: EstimatedRequest,
  reading: UsageReading,
  counter: CountsTokens,
): Promise<UsageEstimate> {
  const { units, unitsVariant, media, context } = request.facts
  const [input, output] = await Promise.all([
    estimateInput(request, counter),
    estimateOutput(request, reading, counter),
  ])
  const text = addMeters({ input: input.tokens, output: output.tokens }, context)
  const named = withPrice(inTokens(units, unitsVariant, request.price), request.price)
  const meters = addMeters(addMeters(text, mediaAllowance(media, request.price, request.providerKind)), named)
  return { line: lineOf(meters, { tier: reading.tier, variant: unitsVariant }), estimates: [input, output] }
}

/** A container without a price is never rented. */
function withPrice({ containers, ...others }: Meters = {}, price: Price): Meters {
  const isRented = containers !== undefined && ratesOf(price).perUnit.has('containers')
  return isRented ? { ...others, containers } : others
}

/** The units of a request without images and speech that are charged by their tokens. */
export function inTokens(units: Meters = {}, variant: string | undefined, price: Price): Meters {
  const rates = ratesOf(price)
  const own = rates.levels[0].rates
  const isOfTokens = (meter: 'images' | 'characters', tokens: 'imageOutput' | 'audioOutput'): boolean =>
    units[meter] !== undefined &&
    own[meter] === undefined &&
    own[tokens] !== undefined &&
    unitRate(rates, meter, variant) === undefined
  const { images = 0, characters = 0, ...others } = units
  const meters: Meters = { ...units }
  if (isOfTokens('images', 'imageOutput')) {
    delete meters.images
    meters.imageOutput = (others.imageOutput ?? 0) + images * imageTokens(variant?.split('/').at(-1))
  }
  if (isOfTokens('characters', 'audioOutput')) {
    delete meters.characters
    meters.audioOutput = (others.audioOutput ?? 0) + Math.ceil(characters * speechTokensPerCharacter)
  }
  return meters
}

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
