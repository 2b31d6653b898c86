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
    /** What has taken the hold over, such as a job whose work goes on behind its response. */
    holder: HoldHolder
    /** The hold outlives the exchange: it is settled when the work ends that has it. */
    isHoldKept: true
  }
}

interface HoldHolder {
  /** Undefined when somebody else has charged the work. */
  charge(request: ChargeRequest): Promise<ChargeResult | undefined>
  release(): Promise<void>
}

export interface HoldContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly usualOutputs: UsualOutputs
}

/** What was seen is told from bytes: so much above the cap it may still be within. */
const beyondCap = 1.5

interface HoldGrowerOptions {
  readonly hold: Hold
  readonly basis: CostBasis
  readonly price: Price
  readonly ledger: Pick<Ledger, 'growHold'>
  /** Neither money nor risk is left for more of the response. */
  readonly onSpent: (error: GatewayError) => void
  readonly onFailure: (error: unknown) => void
}

/** Texts differ so much from what is usual for such bytes. */
const margin = 1.15
/** Digits, marks and rare characters may have a token a byte, and are usually taken for no less than the rest of that. */
const denseMargin = 0.63
/** Of text of which no sample was kept. */
const bytesPerToken = 3
const outputMeters: ReadonlySet<string> = new Set<Meter>(['output', 'audioOutput', 'imageOutput'])

/** The tokens of a sample that grows: its bytes are looked at once, unless some of them are others now. */
export class SampledTokens {
  #density = new TextDensity()
  #denseBytes = 0
  #readBytes = 0
  /** The next byte is the second of a Russian letter. */
  #isSecond = false

  get likely(): number {
    return this.#density.tokens.likely
  }

  /** Bytes that are no letter of English or Russian, and no space. */
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
 * Has the hold of a streamed response grow ahead of it: by a slice, once half of the one before is used up. The
 * ledger is asked once for about a thousand tokens, and never waited for, since half a slice is left meanwhile.
 * What was admitted with all that it may cost needs no growth, unless its provider writes beyond the cap.
 */
export class HoldGrower {
  readonly #options: HoldGrowerOptions
  /** For so many tokens beyond what was seen last there is room in the hold. */
  aheadTokens = 0
  #halfSliceMicros: Micros | undefined
  #sampled: SampledTokens | undefined
  #isGrowing = false
  /** What was seen while the hold grew: nothing else may come for long. */
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
      onSpent(reason) // It stays so: nothing more is asked for.
      return
    }
    if (!this.#hasFailed) onFailure(error)
    this.#hasFailed = true
    // Nobody has decided about the money: with what comes next the ledger is asked again.
    this.#seenMeanwhile = undefined
    this.#isGrowing = false
  }

  /** A slice ahead of what was seen, up to the cap; a provider that goes on beyond that is followed. */
  #atMost(seen: SeenResponse): Micros {
    const { basis, price } = this.#options
    const worstMicros = costSeen(basis, seen)
    if (seen.outputTokens <= outputTokensMost(basis) * beyondCap) return worstMicros
    const ahead = { output: seen.outputTokensMost + sliceTokens, ...seen.read }
    return Math.max(worstMicros, priceLine(price, { meters: ahead }).amountMicros)
  }

  /** What the response has cost until now, as far as that is known. */
  #costOf({ lines }: UsageReading, { untoldTokens }: SeenText): Micros {
    const { price } = this.#options
    let micros = priceLine(price, { meters: { output: untoldTokens } }).amountMicros
    for (const line of lines) micros += priceLine(price, line).amountMicros
    return micros
  }
}

/** What an exchange's cost is worked out from. */
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
 * Sets aside what the exchange is likely to cost, where its worst fits too.
 * @throws GatewayError balance_insufficient with what would fit, key_budget_exceeded, overloaded when the
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

/** Says no in the words of a gateway. */
function refuse(error: unknown, basis: CostBasis): never {
  throw holdRefused(error, { subject: 'This request', waysToFit: room => waysToFit(basis, room) })
}

interface SeenText extends SeenResponse {
  /** Of its text that no usage has told of, as such texts usually have. */
  readonly untoldTokens: number
}

/**
 * What of a response was seen, for `costSeen`.
 * @param sampled what is known of its text already
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
    untoldTokens: text.likely,
    toolUses,
    read,
  }
}

/** The beginning of the text and what came last tell what it is made of. */
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
