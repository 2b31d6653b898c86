import type { Config } from '../config/config.ts'
import type { MediaPart } from '../http/media-part.ts'
import { amountMicrosMax, parseRoubles } from '../money/amount.ts'
import type { Micros } from '../money/amount.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import { holdAmount } from '../money/hold-amount.ts'
import { priceAtMost } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import { timesFactor } from '../money/tier-factor.ts'
import { addMeters, tokensOf } from '../money/usage.ts'
import type { Meters } from '../money/usage.ts'
import { mediaAllowance } from './media-allowance.ts'

/** The requests of a batch to one model, and what is known beside. */
interface PricedShare {
  readonly share: BatchShare
  readonly price: Price
  readonly outputTokensMax: number
  /** Its model writes to a cache what it reads, unasked. */
  readonly isWritten: boolean
  /** What the provider keeps, by the names in `BatchShare.goesOnFrom`. */
  readonly contexts: ReadonlyMap<string, Meters>
}

/**
 * What the requests of a batch to one model may come to cost: as for each of them alone, at the price's
 * factor for batches where it has one.
 */
export function batchShareHold(
  { share, price, outputTokensMax, isWritten, contexts }: PricedShare,
  hold: Config['hold'],
): Micros {
  const longest =
    Math.ceil(share.textBytesLongest / hold.bytesPerToken) +
    longestMedia(share, price) +
    longestContext(share, contexts)
  // Levels that not even the longest of the requests can reach.
  const above = price.above.filter(({ inputTokens }) => longest > inputTokens)
  const { units, mediaMicros } = mediaOf(share, price, hold)
  const amount = holdAmount(
    { ...price, above },
    {
      textBytes: share.textBytes,
      bytesPerToken: hold.bytesPerToken,
      mediaMicros,
      outputTokens: outputTokens(share, outputTokensMax),
      candidates: 1,
      units: addMeters(addMeters(units, share.units), contextOf(share, contexts)),
      variant: share.unitsVariant,
      cacheWrite: share.cacheWrite ?? (isWritten ? '5m' : undefined),
    },
  )
  // Searches cost the same in a batch.
  const searchedMicros = share.searches ? priceAtMost(price, { meters: { searches: share.searches } }) : 0
  return Math.max(1, timesFactor(amount, price.factors['batch']) + searchedMicros)
}

/** No request gets more than the model writes, whatever it asks for. */
function outputTokens(share: BatchShare, outputTokensMax: number): number {
  const capped = Math.min(share.outputTokensCapped, share.candidatesCapped * outputTokensMax)
  return capped + share.candidatesUncapped * outputTokensMax
}

function mediaOf(
  { media }: BatchShare,
  price: Price,
  { mediaRub }: Pick<Config['hold'], 'mediaRub'>,
): { readonly units: Meters; readonly mediaMicros: Micros } {
  let units: Meters = {}
  let mediaMicros = 0
  for (const [name, { count, bytes }] of Object.entries(media)) {
    const kind = name as MediaPart['kind']
    const set = mediaRub[kind]
    if (set !== undefined) {
      mediaMicros += parseRoubles(set) * count
      continue
    }
    // Each as large as they are on average: sums of what is counted by bytes come out the same.
    const part = { path: '', kind, bytes: Math.ceil(bytes / count), bodyStart: 0, bodyBytes: 0 }
    for (const [meter, allowance] of Object.entries(mediaAllowance([part], price))) {
      units = addMeters(units, { [meter]: allowance * count })
    }
  }
  return { units, mediaMicros: Math.min(mediaMicros, amountMicrosMax) }
}

/** What all of them go on from, read again by each. */
function contextOf({ goesOnFrom = {} }: BatchShare, contexts: PricedShare['contexts']): Meters {
  let sum: Meters = {}
  for (const [name, requests] of Object.entries(goesOnFrom)) {
    for (const [meter, units] of Object.entries(contexts.get(name) ?? {}))
      sum = addMeters(sum, { [meter]: units * requests })
  }
  return sum
}

/** Hardly any request goes on from two. */
function longestContext({ goesOnFrom = {} }: BatchShare, contexts: PricedShare['contexts']): number {
  return Math.max(0, ...Object.keys(goesOnFrom).map(name => tokensOf(contexts.get(name) ?? {})))
}

/** All media might stand in one request. */
function longestMedia(share: BatchShare, price: Price): number {
  const { units } = mediaOf(share, price, { mediaRub: {} })
  return Object.values(units).reduce((sum, count) => sum + count, 0)
}
