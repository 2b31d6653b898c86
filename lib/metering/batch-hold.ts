import type { Config } from '../config/config.ts'
import type { MediaPart } from '../http/media-part.ts'
import { amountMicrosMax, parseRoubles } from '../money/amount.ts'
import type { Micros } from '../money/amount.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import { parseDecimal } from '../money/decimal.ts'
import { holdAmount } from '../money/hold-amount.ts'
import type { Price } from '../money/price.ts'
import { addMeters } from '../money/usage.ts'
import type { Meters } from '../money/usage.ts'
import { mediaAllowance } from './media-allowance.ts'

const factorScale = 10n ** 12n

/**
 * What the requests of a batch to one model may come to cost: as for each of them alone, at the price's
 * factor for batches where it has one.
 */
export function batchShareHold(
  share: BatchShare,
  price: Price,
  outputTokensMax: number,
  hold: Config['hold'],
): Micros {
  const longest = Math.ceil(share.textBytesLongest / hold.bytesPerToken) + longestMedia(share, price)
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
      units: addMeters(units, share.units),
      variant: share.unitsVariant,
    },
  )
  return Math.max(1, timesFactor(amount, price.factors['batch']))
}

/** No request gets more than the model writes, whatever it asks for. */
function outputTokens(share: BatchShare, outputTokensMax: number): number {
  const capped = Math.min(share.outputTokensCapped, share.candidatesCapped * outputTokensMax)
  return capped + share.candidatesUncapped * outputTokensMax
}

function mediaOf(
  { media }: BatchShare,
  price: Price,
  { mediaRub }: Config['hold'],
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

/** All media might stand in one request. */
function longestMedia(share: BatchShare, price: Price): number {
  const { units } = mediaOf(share, price, { bytesPerToken: 1, outputTokens: undefined, mediaRub: {} })
  return Object.values(units).reduce((sum, count) => sum + count, 0)
}

function timesFactor(amount: Micros, factor: string | undefined): Micros {
  if (factor === undefined) return amount
  const exact = BigInt(amount) * parseDecimal(factor)
  const micros = (exact + factorScale - 1n) / factorScale
  return micros > BigInt(amountMicrosMax) ? amountMicrosMax : Number(micros)
}
