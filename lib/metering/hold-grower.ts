import type { GatewayError } from '../pipeline/errors.ts'
import { cutReason } from '../ledger/as-gateway-error.ts'
import type { Hold, Ledger, Micros } from '../ledger/ledger.ts'
import { priceLine } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import {
  costSeen,
  outputTokensMost,
  sliceTokens,
  type CostBasis,
  type SeenResponse,
} from './exchange-cost.ts'
import { SampledTokens, seenResponse } from './seen-response.ts'

/** What was seen is told from bytes: so much above the cap it may still be within. */
const beyondCap = 1.5

export interface HoldGrowerOptions {
  readonly hold: Hold
  readonly basis: CostBasis
  readonly price: Price
  readonly ledger: Pick<Ledger, 'growHold'>
  /** Neither money nor risk is left for more of the response. */
  readonly onSpent: (error: GatewayError) => void
  readonly onFailure: (error: unknown) => void
}

/**
 * Has the hold of a streamed response grow ahead of it: by a slice, once half of the one before is used up. The
 * ledger is asked once for about a thousand tokens, and never waited for, since half a slice is left meanwhile.
 * What was admitted with all that it may cost needs no growth, unless its provider writes beyond the cap.
 */
export class HoldGrower {
  readonly #options: HoldGrowerOptions
  readonly #halfSliceMicros: Micros
  readonly #sampled = new SampledTokens()
  #isGrowing = false
  /** What was seen while the hold grew: nothing else may come for long. */
  #seenMeanwhile: UsageReading | undefined

  constructor(options: HoldGrowerOptions) {
    this.#options = options
    this.#halfSliceMicros = priceLine(options.price, { meters: { output: sliceTokens / 2 } }).amountMicros
  }

  onProgress(reading: UsageReading): void {
    if (this.#isGrowing) {
      this.#seenMeanwhile = reading
      return
    }
    const seen = seenResponse(reading, this.#sampled)
    const { hold } = this.#options
    const worstMicros = this.#atMost(seen)
    if (worstMicros - this.#halfSliceMicros <= hold.worstMicros) return
    const likelyMicros = Math.min(worstMicros, Math.max(hold.likelyMicros, this.#costOf(reading, seen)))
    this.#isGrowing = true
    this.#grow({ likelyMicros, worstMicros }).then(
      () => this.#grown(),
      (error: unknown) => this.#refused(error), // It stays so: nothing more is asked for.
    )
  }

  #grown(): void {
    this.#isGrowing = false
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
    if (reason === undefined) onFailure(error)
    else onSpent(reason)
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
  #costOf({ lines }: UsageReading, { outputTokens }: SeenResponse): Micros {
    const { price } = this.#options
    if (lines.length === 0) return priceLine(price, { meters: { output: outputTokens } }).amountMicros
    const [first, ...others] = lines
    let micros = priceLine(price, {
      ...first,
      meters: { ...first?.meters, output: outputTokens },
    }).amountMicros
    for (const line of others) micros += priceLine(price, line).amountMicros
    return micros
  }
}
