import type { Config } from '../config/config.ts'
import { loopsMax } from '../dialects/provider-tools.ts'
import { batchShareCost, givenAtMost } from '../metering/batch-cost.ts'
import { drawnAtMost } from '../metering/named-cost.ts'
import type { NamedPrice } from '../models/requested-model.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import { tokensOf } from '../money/usage.ts'
import { timesFactor } from '../money/consumed-cost.ts'

type Priced = Parameters<typeof batchShareCost>[0]

/** What a model costs that requests of a batch name beside the one that answers. */
export function namedShareCost(priced: Priced, named: NamedPrice, hold: Config['hold']): ExchangeCost {
  const { share } = priced
  const { names, price } = named
  if (named.isDrawing) {
    const given = tokensOf(givenAtMost(priced, hold).meters)
    return drawnInBatch(share, price, {
      given,
      requests: share.drawsWith?.[names[0] ?? ''] ?? share.requests,
    })
  }
  return batchShareCost({ ...priced, ...advisedShare(share, named), price, isWritten: false }, hold)
}

/** What an advisor writes each time that it is asked the caps of the requests do not bound. */
function advisedShare(
  share: BatchShare,
  { names, model }: NamedPrice,
): { readonly share: BatchShare; readonly outputTokensMax?: number } {
  let asked = 0
  for (const { tools, candidates, requests } of share.work) {
    for (const { model: asks, uses = loopsMax } of tools)
      if (asks !== undefined && names.includes(asks)) asked += requests * candidates * uses
  }
  if (asked === 0) return { share }
  return {
    share: { ...share, candidatesUncapped: asked, candidatesCapped: 0, outputTokensCapped: 0 },
    ...(model?.outputTokensMax !== undefined && { outputTokensMax: model.outputTokensMax }),
  }
}

interface DrawingRequests {
  /** Tokens that all requests of the share give to read. */
  readonly given: number
  /** How many of them draw. */
  readonly requests: number
}

function drawnInBatch(share: BatchShare, price: Price, { given, requests }: DrawingRequests): ExchangeCost {
  const images = share.media['image']?.count ?? 0
  const text = Math.ceil(given / share.requests)
  const drawn = (each: number): number =>
    timesFactor(requests * drawnAtMost([price], text, images, each), price.factors['batch'])
  const worstMicros = drawn(loopsMax)
  return { likelyMicros: drawn(1), worstMicros, strictMicros: worstMicros }
}
