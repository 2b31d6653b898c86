import type { RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { ChargeRequest, Hold, Ledger, Micros } from '../ledger/ledger.ts'
import { priceCharge } from '../ledger/price-charge.ts'
import { priceLine } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import { addMeters, type UsageReading } from '../money/usage.ts'

/** Fewer than most tokens have, so that what is reckoned by the length of a text is rather too much. */
const bytesPerToken = 3
/** Tokens that are counted here differ by less from those that a provider counts: no answer is cut for that. */
const tolerance = 1.25
/** The next look comes when the cost has grown by this much at least, however near the limit is. */
const growthMin = 0.05

export interface SpendingWatchOptions {
  readonly hold: Hold
  readonly price: Price
  readonly facts: RequestFacts
  readonly ledger: Pick<Ledger, 'balance'>
  /** What would be charged if the answer ended here; tokens are counted for it, in a thread. */
  readonly owed: (reading: UsageReading) => Promise<ChargeRequest | undefined>
  /** The answer has cost all the money there is. */
  readonly onSpent: (error: GatewayError) => void
  readonly onFailure: (error: unknown) => void
}

/**
 * Looks, now and then, whether what was delivered of an answer costs more than its hold and what else the
 * account has: a provider that goes on beyond all limits is not paid with money that nobody has. The length
 * of the text tells for most answers; balance and tokens are asked for only when that is not enough.
 */
export class SpendingWatch {
  readonly #options: SpendingWatchOptions
  #isLooking = false
  /** A reckoned cost below this needs no look. */
  #looksFromMicros: Micros

  constructor(options: SpendingWatchOptions) {
    this.#options = options
    this.#looksFromMicros = options.hold.likelyMicros
  }

  onProgress(reading: UsageReading): void {
    if (this.#isLooking) return
    const reckonedMicros = this.#reckon(reading)
    if (reckonedMicros <= this.#looksFromMicros) return
    this.#isLooking = true
    this.#look(reading, reckonedMicros).then(
      nextMicros => {
        this.#looksFromMicros = nextMicros
        this.#isLooking = nextMicros === Number.POSITIVE_INFINITY
      },
      (error: unknown) => this.#options.onFailure(error), // No further look: each would fail.
    )
  }

  #reckon({ lines, unmeteredTextBytes }: UsageReading): Micros {
    const { price, facts } = this.#options
    const output = Math.ceil(unmeteredTextBytes / bytesPerToken)
    let micros = priceLine(price, { meters: { output } }).amountMicros
    for (const line of lines) micros += priceLine(price, line).amountMicros
    if (lines.length > 0) return micros
    const input = Math.ceil(facts.textBytes / bytesPerToken)
    return micros + priceLine(price, { meters: addMeters({ input }, facts.context) }).amountMicros
  }

  /** Answers from which reckoned cost on it is to be looked at again: never, when all is spent. */
  async #look(reading: UsageReading, reckonedMicros: Micros): Promise<Micros> {
    const { hold, ledger, owed, onSpent } = this.#options
    const { availableMicros } = await ledger.balance(hold.accountId)
    const limitMicros = tolerance * (hold.likelyMicros + Math.max(0, availableMicros))
    const leastMicros = Math.ceil(reckonedMicros * (1 + growthMin))
    // Others spend of the same money, so half of the rest is as far as this look reaches.
    if (reckonedMicros <= limitMicros)
      return Math.max(leastMicros, Math.floor((reckonedMicros + limitMicros) / 2))
    const charge = await owed(reading)
    const costMicros = charge === undefined ? 0 : priceCharge(charge).costMicros
    if (costMicros > limitMicros) {
      onSpent(
        new GatewayError(
          'balance_insufficient',
          'The answer was cut: what there is of it has cost all the money of the account.',
        ),
      )
      return Number.POSITIVE_INFINITY
    }
    const rest = costMicros === 0 ? 1 : (limitMicros / costMicros - 1) / 2
    return Math.max(leastMicros, Math.floor(reckonedMicros * (1 + rest)))
  }
}
