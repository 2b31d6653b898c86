import type { Config } from '../config/config.ts'
import { loopsMax } from '../dialects/provider-tools.ts'
import { batchShareCost, givenAtMost, shareTokens } from '../metering/batch-cost.ts'
import { windowTokensOf, writesCacheByDefault } from '../metering/exchange-cost.ts'
import { drawnAtMost } from '../metering/named-cost.ts'
import { outputCap } from '../metering/output-cap.ts'
import type { NamedPrice } from '../models/requested-model.ts'
import type { ResolvedModel } from '../models/model-directory.ts'
import { readsFilesInText } from '../models/object-owner.ts'
import { requirePricedSearches, requirePricedTier } from '../models/require-priced.ts'
import { toolsOf, type BatchShare } from '../money/batch-facts.ts'
import { timesFactor } from '../money/consumed-cost.ts'
import { sumOf, type ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import { addMeters, mapMeters, tokensOf, type Meters } from '../money/usage.ts'

/** One paid share of a batch, with the models that its requests name beside their own. */
export interface CostedShare {
  readonly share: BatchShare
  readonly model: ResolvedModel
  readonly price: Price
  readonly named: readonly NamedPrice[]
  /** The main meter is input: each request is a list of texts, as for embeddings. */
  readonly isOfInput: boolean
}

/**
 * The cost of a batch's requests to one model at a provider of a kind, with the models that they name beside it.
 * @throws GatewayError not_supported for tools and tiers without a price there
 */
export function costOfShare(
  costed: CostedShare,
  providerKind: string,
  contexts: ReadonlyMap<string, Meters>,
  hold: Config['hold'],
): ExchangeCost {
  const { share, price, named } = costed
  requirePricedSearches(toolsOf(share), price, providerKind)
  requirePricedTier(share.wantedTier, price, providerKind)
  const priced = pricedAt(costed, providerKind, contexts)
  return named.reduce(
    (sum, one) => sumOf(sum, namedShareCost(priced, one, hold)),
    batchShareCost(priced, hold),
  )
}

type Priced = Parameters<typeof batchShareCost>[0]

/** The facts and the price of a share at a provider of a kind. */
function pricedAt(
  { share, model, price, isOfInput }: CostedShare,
  providerKind: string,
  contexts: ReadonlyMap<string, Meters>,
): Priced {
  const { unread = 0, namingFiles = 0 } = share
  const { upstreamName: upstreamModelName, entry } = model
  const target = { model: entry, provider: { kind: providerKind }, upstreamModelName }
  return {
    share: readsFilesInText(providerKind) ? { ...share, unread: unread + namingFiles } : share,
    price,
    contexts,
    providerKind,
    upstreamModelName,
    outputTokensMax: outputCap(target, {}),
    windowTokens: windowTokensOf(target),
    isReadInParts: share.isReadInParts === true || isOfInput,
    isWritten: writesCacheByDefault(upstreamModelName),
  }
}

/** The cost of a model that requests of a batch name beside the responding one. */
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

/** The requests' caps do not limit what an advisor writes each time it is called. */
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
  /** Input tokens of all requests of the share. */
  readonly given: number
  /** The number of requests that make images. */
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

/**
 * The expected input of one request of a batch, and in `output` the most that can be written for it, by the models'
 * names at the provider: for results that report none. The empty name stands for the first request's model.
 */
export function eachRequest(
  shares: readonly CostedShare[],
  providerKind: string,
  contexts: ReadonlyMap<string, Meters>,
  hold: Config['hold'],
): Readonly<Record<string, Meters>> {
  const sums = new Map<string, { readonly requests: number; readonly meters: Meters }>()
  for (const costed of shares) {
    const name = costed.model.upstreamName
    const { requests, meters } = sums.get(name) ?? { requests: 0, meters: {} }
    const tokens = shareTokens(pricedAt(costed, providerKind, contexts), hold)
    sums.set(name, { requests: requests + costed.share.requests, meters: addMeters(meters, tokens) })
  }
  const means = [...sums].map(
    ([name, { requests, meters }]) =>
      [name, mapMeters(meters, units => Math.ceil(units / requests))] as const,
  )
  const [first] = means
  return Object.fromEntries(first === undefined ? [] : [['', first[1]], ...means])
}
