import type { Config } from '../config/config.ts'
import type { MediaPart } from '../http/media-part.ts'
import { likelyTextTokens } from '../http/text-density.ts'
import { amountMicrosMax, parseRoubles, type Micros } from '../money/amount.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import { costAtMost, costUsually, timesFactor, timesFactorsAtMost } from '../money/consumed-cost.ts'
import type { Price } from '../money/price.ts'
import { addMeters, mapMeters, tokensOf, type Meters } from '../money/usage.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import { knownProvider } from '../providers/known-providers.ts'
import { mediaAllowance } from './media-allowance.ts'
import { audioBytesPerSecondMin, mediaBound } from './media-bound.ts'
import { tokensAround, agentsOf } from './unrequested-work.ts'
import { thinksBeyondCap } from './output-cap.ts'
import { toolRounds } from './tool-rounds.ts'

/** The requests of a batch to one model, with their price and limits. */
interface PricedShare {
  readonly share: BatchShare
  readonly price: Price
  readonly providerKind: string
  readonly upstreamModelName: string
  readonly outputTokensMax: number
  readonly windowTokens: number
  /** Each text of a list has a context window of its own. */
  readonly isReadInParts: boolean
  /** The model writes its input to a cache without a request to do so. */
  readonly isWritten: boolean
  /** The stored contexts at the provider, by the names in `BatchShare.goesOnFrom`. */
  readonly contexts: ReadonlyMap<string, Meters>
}

interface GivenToAll {
  /** Including the text that the provider adds. */
  readonly text: number
  readonly media: Meters
  /** Of everything: text, media, and stored contexts. */
  readonly meters: Meters
  /** The amounts of media kinds for which the operator has set one. */
  readonly mediaMicros: Micros
}

/**
 * The cost of a batch's requests to one model, as if each were sent alone, at the price's batch factor if it has one.
 * Nothing of a batch can be observed before it ends, so its worst case is strict.
 */
export function batchShareCost(priced: PricedShare, hold: Config['hold']): ExchangeCost {
  const worstMicros = Math.max(1, atMost(priced, hold))
  const likelyMicros = Math.max(1, Math.min(worstMicros, usually(priced, hold)))
  return { likelyMicros, worstMicros, strictMicros: worstMicros }
}

/** The input that the requests contain, each counted once. */
export function givenAtMost(priced: PricedShare, hold: Config['hold']): GivenToAll {
  const { share, providerKind } = priced
  const { requests, explainedTools: explained = 0 } = share
  const text =
    (share.textTokens?.most ?? share.textBytes) + tokensAround(providerKind, { requests, explained })
  const { meters: media, mediaMicros } = mediaAtMost(priced, hold)
  const meters = addMeters(addMeters({ input: text }, media), contextOf(priced))
  return { text, media, meters, mediaMicros }
}

function atMost(priced: PricedShare, hold: Config['hold']): Micros {
  const { share, price, windowTokens } = priced
  const { requests, explainedTools: explained = 0 } = share
  const windows = priced.isReadInParts ? Infinity : windowTokens
  const given = givenAtMost(priced, hold)
  const longestText = share.textBytesLongest + tokensAround(priced.providerKind, { requests: 1, explained })
  const longest = Math.min(
    windowTokens,
    Math.min(given.text, longestText) + tokensOf(given.media) + longestContext(priced),
  )
  const tools = toolsAtMost(priced, longest)
  const longestRead = tools.tokens > 0 ? windowTokens : longest
  const agents = agentsOf(priced.upstreamModelName)
  const read = addMeters(
    mapMeters(given.meters, units => units * agents),
    {
      input: tools.tokens + agents * (share.unread ?? 0) * windowTokens,
    },
  )
  const windowsTokens = (agents * requests + tools.readings) * windows
  const consumed = {
    read: mapMeters(read, units => Math.min(units, windowsTokens)),
    outputTokens: agents * outputTokens(priced) * (tools.isCompacted ? 2 : 1) + (share.predictedBytes ?? 0),
    units: share.units ?? {},
    variant: share.unitsVariant,
    cacheWrite: share.cacheWrite ?? (priced.isWritten ? ('5m' as const) : undefined),
  }
  const amount = costAtMost(reachable(price, agents * longestRead), consumed) + given.mediaMicros
  // Searches and fees cost the same in a batch.
  const fees = { searches: tools.searches + (share.units?.searches ?? 0), requests: share.requests }
  return (
    inTiers(price, amount, share.wantedTier) + costAtMost(price, { read: {}, outputTokens: 0, units: fees })
  )
}

/** The expected input of the requests, and in `output` the most that can be written for them. */
export function shareTokens(priced: PricedShare, hold: Config['hold']): Meters {
  return { ...readUsually(priced, hold).read, output: outputTokens(priced) }
}

function readUsually(priced: PricedShare, hold: Config['hold']): { read: Meters; mediaMicros: Micros } {
  const { share, price } = priced
  let read = addMeters({ input: likelyTextTokens(share) }, contextOf(priced))
  let mediaMicros = 0
  for (const { kind, count, bytes, set } of mediaOf(share, hold)) {
    if (set !== undefined) mediaMicros += set * count
    else {
      // Each part has the average size: sums of units that are counted by bytes come out the same.
      const allowance = mediaAllowance([partOf(kind, Math.ceil(bytes / count))], price, priced.providerKind)
      read = addMeters(
        read,
        mapMeters(allowance, units => units * count),
      )
    }
  }
  return { read, mediaMicros }
}

function usually(priced: PricedShare, hold: Config['hold']): Micros {
  const { share, price } = priced
  const { read, mediaMicros } = readUsually(priced, hold)
  const most = outputTokens(priced)
  const candidates = share.candidatesCapped + share.candidatesUncapped
  const { searches: _, ...units } = share.units ?? {}
  const amount = costUsually(reachable(price, 0), {
    read,
    outputTokens: Math.min(most, candidates * hold.likelyOutputTokens),
    units,
    variant: share.unitsVariant,
  })
  const fees = { searches: (share.searches ?? 0) + (share.units?.searches ?? 0), requests: share.requests }
  return inBatch(price, amount + mediaMicros) + costUsually(price, { read: {}, outputTokens: 0, units: fees })
}

/** Levels that not even the longest request can reach are left out. */
function reachable(price: Price, longestTokens: number): Price {
  return { ...price, above: price.above.filter(({ inputTokens }) => longestTokens > inputTokens) }
}

function inBatch(price: Price, amount: Micros): Micros {
  return timesFactor(Math.min(amountMicrosMax, amount), price.factors['batch'])
}

/** A tier in addition to the batch tier has a factor of its own; a speed replaces the tier. */
function inTiers(price: Price, amount: Micros, wantedTier: string | undefined): Micros {
  const wanted = timesFactorsAtMost(Math.min(amountMicrosMax, amount), price, wantedTier)
  return wantedTier === undefined || wantedTier === 'us' ? inBatch(price, wanted) : wanted
}

/** The output of a request is limited by the model, whatever cap it sets. */
function outputTokens({
  share,
  price,
  providerKind,
  upstreamModelName,
  outputTokensMax,
}: PricedShare): number {
  const { candidatesCapped, candidatesUncapped, outputTokensCapped, isCompletionCapped } = share
  const longest = candidatesCapped * outputTokensMax
  // A cap on text does not limit images.
  const mayDraw = price.rubPerMillion.imageOutput !== undefined
  const isCapRead =
    !mayDraw && (isCompletionCapped !== true || knownProvider(providerKind).readsCompletionTokens === true)
  const capped = isCapRead ? Math.min(outputTokensCapped, longest) : longest
  const beyond = thinksBeyondCap(upstreamModelName, providerKind) ? longest : 0
  return capped + beyond + candidatesUncapped * outputTokensMax
}

interface MediaOfKind {
  readonly kind: MediaPart['kind']
  readonly count: number
  readonly bytes: number
  /** The operator's amount for each part. */
  readonly set: Micros | undefined
}

function mediaOf({ media }: BatchShare, { mediaRub }: Config['hold']): readonly MediaOfKind[] {
  return Object.entries(media).map(([name, { count, bytes }]) => {
    const kind = name as MediaPart['kind']
    const set = mediaRub[kind]
    return { kind, count, bytes, set: set === undefined ? undefined : parseRoubles(set) }
  })
}

function mediaAtMost(priced: PricedShare, hold: Config['hold']): Pick<GivenToAll, 'meters' | 'mediaMicros'> {
  const { share } = priced
  const bounds = { ...priced, framesPerSecond: 1 }
  let meters: Meters = {}
  let mediaMicros = 0
  for (const { kind, count, bytes, set } of mediaOf(share, hold)) {
    if (set !== undefined) {
      mediaMicros += set * count
      continue
    }
    // Each recording has the average length plus one second, since seconds are whole: their limit is the model's input,
    // so no other split of the same bytes costs more. Other media are counted by the piece.
    const mean = kind === 'audio' ? Math.ceil(bytes / count) + audioBytesPerSecondMin : undefined
    const [meter, units] = mediaBound(partOf(kind, mean), bounds)
    meters = addMeters(meters, { [meter]: units * count })
    if (kind === 'audio') {
      const [, unknown] = mediaBound(partOf(kind, undefined), bounds)
      meters = addMeters(meters, { [meter]: unknown * (share.unknownAudio ?? 0) })
    }
  }
  return { meters, mediaMicros: Math.min(mediaMicros, amountMicrosMax) }
}

function partOf(kind: MediaPart['kind'], bytes: number | undefined): MediaPart {
  return { path: '', kind, ...(bytes !== undefined && { bytes }), bodyStart: 0, bodyBytes: 0 }
}

interface ToolsAtMost {
  readonly tokens: number
  readonly searches: number
  /** How often a context is read again after the first time. */
  readonly readings: number
  /** Some requests are compacted, and the summary is written as well. */
  readonly isCompacted: boolean
}

function toolsAtMost({ share, windowTokens, ...model }: PricedShare, longest: number): ToolsAtMost {
  const sum = { tokens: 0, searches: 0, readings: 0, isCompacted: false }
  const kinds = Object.keys(share.media) as MediaPart['kind'][]
  const media = kinds.map(kind => partOf(kind, undefined))
  const thinksBeyond = thinksBeyondCap(model.upstreamModelName, model.providerKind)
  const longestWritten = (thinksBeyond ? 2 : 1) * model.outputTokensMax
  for (const { requests, tools, candidates, isCompacted } of share.work) {
    const facts = { tools, candidates, media, ...(isCompacted && { isCompacted: true as const }) }
    const rounds = toolRounds(facts, model, windowTokens)
    const written = (isCompacted ? 2 : 1) * longestWritten
    sum.tokens += requests * rounds.tokensAfter(longest + written)
    sum.searches += requests * rounds.searches
    sum.readings += requests * rounds.count
    if (isCompacted) sum.isCompacted = true
  }
  return sum
}

/** The stored contexts of all requests, read again by each. */
function contextOf({ share: { goesOnFrom = {} }, contexts }: PricedShare): Meters {
  let sum: Meters = {}
  for (const [name, requests] of Object.entries(goesOnFrom))
    sum = addMeters(
      sum,
      mapMeters(contexts.get(name) ?? {}, units => units * requests),
    )
  return sum
}

/** Hardly any request continues from two objects. */
function longestContext({ share: { goesOnFrom = {} }, contexts }: PricedShare): number {
  return Math.max(0, ...Object.keys(goesOnFrom).map(name => tokensOf(contexts.get(name) ?? {})))
}
