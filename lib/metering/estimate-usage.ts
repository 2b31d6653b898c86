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

/** Whatever counts tokens; undefined when it could not in time. */
export interface CountsTokens {
  count(text: TextToCount): Promise<TokenCount | undefined>
}

/** What an estimate is made of beside the answer. */
export interface EstimatedRequest {
  readonly facts: RequestFacts
  readonly price: Price
  /** The body where it is JSON and not compressed. */
  readonly json: RequestBody | undefined
  readonly providerKind: string
  /** The model writes an answer, so that the request is wrapped into a conversation. */
  readonly isGeneration: boolean
}

/** A number of tokens that no provider told. */
export interface Estimate {
  readonly tokens: number
  /** Counted by tiktoken; otherwise taken from the length of the text. */
  readonly isCounted: boolean
}

interface UsageEstimate {
  readonly line: UsageLine
  readonly estimates: readonly Estimate[]
}

/** The part of a request that is counted; of a longer one the rest is reckoned by its length. */
const promptBytesMax = 262_144

/** What a character comes to that is spoken: OpenAI's prices for both are as far apart. */
const speechTokensPerCharacter = 1.25

/** What stands in a sample in the place of a part's bytes, so that JSON stays JSON. */
const emptyString = Buffer.from('""')

function byLength(bytes: number): Estimate {
  return { tokens: Math.ceil(bytes / bytesPerToken), isCounted: false }
}

/** The tokens of a provider, by its kind; those of OpenAI where none are known. */
function tokenizerOf(providerKind: string): Tokenizer {
  return knownProvider(providerKind).tokenizer ?? openaiTokenizer
}

/** Tokens of the text that was delivered and is in no usage the provider has told. */
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

/** Tokens of what the request gives the model to read. Media are not in it. */
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

/** What an answer without usage is taken to have consumed, what it went on from, and the units the request named. */
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

/** Where containers have no price, none is rented. */
function withPrice({ containers, ...others }: Meters = {}, price: Price): Meters {
  const isRented = containers !== undefined && ratesOf(price).perUnit.has('containers')
  return isRented ? { ...others, containers } : others
}

/** Images and speech that are paid for by their tokens have no price of their own. */
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
