import type { Config } from '../config/config.ts'
import { holdRefused, cutReason } from '../ledger/as-gateway-error.ts'
import type { ChargeRequest, ChargeResult, Hold, Ledger, Micros } from '../ledger/ledger.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import {
  exchangeCost,
  type CostBasis,
  costSeen,
  outputTokensMost,
  sliceTokens,
  type SeenResponse,
} from './exchange-cost.ts'
import { waysToFit } from './ways-to-fit.ts'
import type { UsualOutputs } from './usual-outputs.ts'
import type { GatewayError } from '../pipeline/errors.ts'
import { priceLine } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading, Meter, Meters } from '../money/usage.ts'
import { TextDensity } from '../http/text-density.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    hold: Hold
    /** The holder that took over the hold, such as a job whose work continues after its response. */
    holder: HoldHolder
    /** The hold outlives the exchange: it is settled when its holder's work ends. */
    isHoldKept: true
  }
}

interface HoldHolder {
  /** Undefined if another process has already charged the work. */
  charge(request: ChargeRequest): Promise<ChargeResult | undefined>
  release(): Promise<void>
}

export interface HoldContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly usualOutputs: UsualOutputs
}

/** Visible output is estimated from bytes: up to this factor above the cap it may still be within it. */
const beyondCap = 1.5

interface HoldGrowerOptions {
  readonly hold: Hold
  readonly basis: CostBasis
  readonly price: Price
  readonly ledger: Pick<Ledger, 'growHold'>
  /** Called when neither money nor risk is left for more of the response. */
  readonly onSpent: (error: GatewayError) => void
  readonly onFailure: (error: unknown) => void
}

/** How far texts vary from the usual tokens per byte. */
const margin = 1.15
/** Digits, punctuation and rare characters may have a token a byte; the usual estimate covers the rest of that. */
const denseMargin = 0.63
/** For text without a sample. */
const bytesPerToken = 3
const outputMeters: ReadonlySet<string> = new Set<Meter>(['output', 'audioOutput', 'imageOutput'])

/** The tokens of a growing sample: its bytes are scanned once, unless some of them have changed. */
export class SampledTokens {
  #density = new TextDensity()
  #denseBytes = 0
  #readBytes = 0
  /** The next byte is the second of a Russian letter. */
  #isSecond = false

  get likely(): number {
    return this.#density.tokens.likely
  }

  /** Bytes that are neither letters of English or Russian nor spaces. */
  get denseBytes(): number {
    return this.#denseBytes
  }

  read({ bytes, isContinued }: NonNullable<UsageReading['textSample']>): void {
    if (!isContinued) this.#startAnew()
    this.#density.add(bytes, this.#readBytes)
    for (let position = this.#readBytes; position < bytes.length; position++) {
      const byte = bytes[position] as number
      if (this.#isSecond) this.#isSecond = false
      else if (byte === 0xd0 || byte === 0xd1) this.#isSecond = true
      else if (!isLetter(byte) && byte !== 0x20 && byte !== 0x0a) this.#denseBytes += 1
    }
    this.#readBytes = bytes.length
  }

  #startAnew(): void {
    this.#density = new TextDensity()
    this.#denseBytes = 0
    this.#readBytes = 0
    this.#isSecond = false
  }
}

/**
 * Grows the hold of a streamed response ahead of it: by a slice, once half of the previous one is used. The ledger is
 * called about once per thousand tokens, and the stream does not wait for it, since half a slice remains meanwhile. A
 * response admitted at its full worst case needs no growth, unless its provider writes beyond the cap.
 */
export class HoldGrower {
  readonly #options: HoldGrowerOptions
  /** The hold has room for this many tokens beyond the last reading. */
  aheadTokens = 0
  #halfSliceMicros: Micros | undefined
  #sampled: SampledTokens | undefined
  #isGrowing = false
  /** The last reading while the hold grew: the next one may be a long time away. */
  #seenMeanwhile: UsageReading | undefined
  #hasFailed = false

  constructor(options: HoldGrowerOptions) {
    this.#options = options
  }

  onProgress(reading: UsageReading): void {
    if (this.#isGrowing) {
      this.aheadTokens = 0
      this.#seenMeanwhile = reading
      return
    }
    this.#sampled ??= new SampledTokens()
    const seen = seenResponse(reading, this.#sampled)
    const { hold, price } = this.#options
    this.#halfSliceMicros ??= priceLine(price, { meters: { output: sliceTokens / 2 } }).amountMicros
    const worstMicros = this.#atMost(seen)
    const spareSlices = (hold.worstMicros - worstMicros) / Math.max(1, 2 * this.#halfSliceMicros)
    this.aheadTokens = sliceTokens * (1 + spareSlices)
    if (worstMicros - this.#halfSliceMicros <= hold.worstMicros) return
    const likelyMicros = Math.min(worstMicros, Math.max(hold.likelyMicros, this.#costOf(reading, seen)))
    this.#isGrowing = true
    this.#grow({ likelyMicros, worstMicros }).then(
      () => this.#grown(),
      (error: unknown) => this.#refused(error),
    )
  }

  #grown(): void {
    this.#isGrowing = false
    this.aheadTokens = sliceTokens
    const reading = this.#seenMeanwhile
    this.#seenMeanwhile = undefined
    if (reading !== undefined) this.onProgress(reading)
  }

  async #grow(totals: { readonly likelyMicros: Micros; readonly worstMicros: Micros }): Promise<void> {
    const { ledger, hold } = this.#options
    await ledger.growHold(hold, totals)
  }

  #refused(error: unknown): void {
    const { onSpent, onFailure } = this.#options
    const reason = cutReason(error)
    if (reason !== undefined) {
      onSpent(reason) // The state is final: no further growth is requested.
      return
    }
    if (!this.#hasFailed) onFailure(error)
    this.#hasFailed = true
    // The ledger did not decide: it is called again with the next reading.
    this.#seenMeanwhile = undefined
    this.#isGrowing = false
  }

  /** A slice ahead of the visible output, up to the cap; if a provider writes beyond the cap, the hold follows. */
  #atMost(seen: SeenResponse): Micros {
    const { basis, price } = this.#options
    const worstMicros = costSeen(basis, seen)
    if (seen.outputTokens <= outputTokensMost(basis) * beyondCap) return worstMicros
    const ahead = { output: seen.outputTokensMost + sliceTokens, ...seen.read }
    return Math.max(worstMicros, priceLine(price, { meters: ahead }).amountMicros)
  }

  /** The cost of the response so far, as far as it is known. */
  #costOf({ lines }: UsageReading, { unreportedTokens }: SeenText): Micros {
    const { price } = this.#options
    let micros = priceLine(price, { meters: { output: unreportedTokens } }).amountMicros
    for (const line of lines) micros += priceLine(price, line).amountMicros
    return micros
  }
}

/** The basis of an exchange's cost. */
function costBasisOf(exchange: Exchange, { config, usualOutputs }: Omit<HoldContext, 'ledger'>): CostBasis {
  const target = exchange.get('target')
  return {
    target,
    facts: exchange.get('request'),
    hold: config.hold,
    usualOutputTokens: usualOutputs.ofAccount(exchange.get('key').accountId, target.modelName)?.output,
  }
}

/**
 * Sets aside the likely cost of the exchange, if its worst case fits too.
 * @throws GatewayError balance_insufficient with the cap that would fit, key_budget_exceeded, overloaded when the
 * ledger cannot write
 */
export function placeHold(exchange: Exchange, context: HoldContext): Hold | Promise<Hold> {
  const key = exchange.get('key')
  const basis = costBasisOf(exchange, context)
  try {
    const hold = context.ledger.placeHold({
      exchangeId: exchange.id,
      sequence: 0,
      accountId: key.accountId,
      keyId: key.id,
      ...exchangeCost(basis),
      ...(key.budgetMicros === undefined
        ? {}
        : { budget: { budgetMicros: key.budgetMicros, period: key.budgetPeriod ?? 'total' } }),
    })
    if (!(hold instanceof Promise)) return hold
    return hold.catch((error: unknown) => refuse(error, basis))
  } catch (error) {
    return refuse(error, basis)
  }
}

/** Translates the ledger's refusal into a GatewayError. */
function refuse(error: unknown, basis: CostBasis): never {
  throw holdRefused(error, { subject: 'This request', waysToFit: room => waysToFit(basis, room) })
}

interface SeenText extends SeenResponse {
  /** The tokens of text without reported usage, as usual for such text. */
  readonly unreportedTokens: number
}

/**
 * The visible part of a response, for `costSeen`.
 * @param sampled what is already known of its text
 */
export function seenResponse(reading: UsageReading, sampled = new SampledTokens()): SeenText {
  const { lines, toolUses = 0 } = reading
  const text = unmeteredTokens(reading, sampled)
  let told = 0
  let read: Meters | undefined
  for (const { meters } of lines) {
    for (const [meter, units] of Object.entries(meters)) {
      if (outputMeters.has(meter)) told += units
      else if (units > 0) read = { ...read, [meter]: (read?.[meter as Meter] ?? 0) + units }
    }
  }
  return {
    outputTokens: told + text.likely,
    outputTokensMost: told + text.most,
    unreportedTokens: text.likely,
    toolUses,
    read,
  }
}

/** The beginning of the text and its most recent bytes determine its density. */
function unmeteredTokens(
  { unmeteredTextBytes, textSample }: UsageReading,
  sampled: SampledTokens,
): { readonly likely: number; readonly most: number } {
  if (textSample === undefined || textSample.bytes.length === 0) {
    const tokens = Math.ceil(unmeteredTextBytes / bytesPerToken)
    return { likely: tokens, most: tokens }
  }
  sampled.read(textSample)
  const share = unmeteredTextBytes / textSample.bytes.length
  const likely = margin * sampled.likely
  return {
    likely: Math.ceil(likely * share),
    most: Math.ceil((likely + denseMargin * sampled.denseBytes) * share),
  }
}

function isLetter(byte: number): boolean {
  const small = byte | 0x20
  return small >= 0x61 && small <= 0x7a
}
