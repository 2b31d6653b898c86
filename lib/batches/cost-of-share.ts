import type { Config } from '../config/config.ts'
import { batchShareCost } from '../metering/batch-cost.ts'
import { windowTokensOf, writesUnasked } from '../metering/exchange-cost.ts'
import { outputCap } from '../metering/output-cap.ts'
import type { NamedPrice } from '../models/requested-model.ts'
import type { ResolvedModel } from '../models/model-directory.ts'
import { readsFilesInText } from '../models/object-owner.ts'
import { requirePricedSearches, requirePricedTier } from '../models/require-priced.ts'
import { toolsOf, type BatchShare } from '../money/batch-facts.ts'
import { sumOf, type ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import { namedShareCost } from './named-share-cost.ts'

interface CostedShare {
  readonly share: BatchShare
  readonly model: ResolvedModel
  readonly price: Price
  readonly named: readonly NamedPrice[]
  /** Embeddings are of lists of texts. */
  readonly isOfInput: boolean
}

/**
 * What the requests of a batch to one model cost at a provider of a kind, with the models that they name beside it.
 * @throws GatewayError not_supported for tools and tiers that nothing pays for there
 */
export function costOfShare(
  { share, model, price, named, isOfInput }: CostedShare,
  providerKind: string,
  contexts: ReadonlyMap<string, Meters>,
  hold: Config['hold'],
): ExchangeCost {
  requirePricedSearches(toolsOf(share), price, providerKind)
  requirePricedTier(share.wantedTier, price, providerKind)
  const { unread = 0, namingFiles = 0 } = share
  const { upstreamName: upstreamModelName, entry } = model
  const target = { model: entry, provider: { kind: providerKind }, upstreamModelName }
  const priced = {
    share: readsFilesInText(providerKind) ? { ...share, unread: unread + namingFiles } : share,
    price,
    contexts,
    providerKind,
    upstreamModelName,
    outputTokensMax: outputCap(target, {}),
    windowTokens: windowTokensOf(target),
    isReadInParts: share.isReadInParts === true || isOfInput,
    isWritten: writesUnasked(upstreamModelName),
  }
  return named.reduce(
    (sum, one) => sumOf(sum, namedShareCost(priced, one, hold)),
    batchShareCost(priced, hold),
  )
}
