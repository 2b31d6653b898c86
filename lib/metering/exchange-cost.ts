import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { likelyTextTokens } from '../http/text-density.ts'
import { type ProviderTool, rentedUnseen } from '../dialects/provider-tools.ts'
import { searchesOf } from '../dialects/search-tools.ts'
import type { Target } from '../models/choose-provider.ts'
import { amountMicrosMax, parseRoubles, type Micros } from '../money/amount.ts'
import { maxOf, type ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import { costAtMost, costUsually, type Consumed } from '../money/consumed-cost.ts'
import { addMeters, isUnread, mapMeters, tokensOf, type Meters } from '../money/usage.ts'
import { drawnAtMost, drawnTokens, namedAtMost } from './named-cost.ts'
import { feesAtMost, tokensAround, agentsOf, unaskedTools } from './unasked-work.ts'
import { mediaAllowance } from './media-allowance.ts'
import { mediaBound } from './media-bound.ts'
import { outputCap, hiddenReasoning } from './output-cap.ts'
import { noRounds, toolRounds, type ToolRounds } from './tool-rounds.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** What an exchange is taken to write, in tokens. */
interface Written {
  readonly outputTokens: number
  readonly rounds: ToolRounds
  /** What is known to be read; as much as it may be unless said. */
  readonly read?: Meters | undefined
}

/** What bounds an exchange, whatever comes of it. */
interface Bounds {
  readonly price: Price
  readonly windowTokens: number
  readonly capTokens: number
  readonly rounds: ToolRounds
  /** What the model or its provider runs without being asked to. */
  readonly unasked: readonly ProviderTool[]
  readonly input: InputAtMost
}

/** The model that is asked, as far as its cost depends on it. */
export interface CostTarget extends Pick<
  Target,
  'upstreamModelName' | 'price' | 'named' | 'batch' | 'otherKinds'
> {
  readonly provider: { readonly kind: string }
  readonly model?: ModelLimits | undefined
}

/** What a model reads and writes at most. */
export interface ModelLimits {
  readonly contextTokensMax?: number
  readonly outputTokensMax?: number
}

/** What is known of an exchange before it is sent. */
export interface CostBasis {
  readonly target: CostTarget
  readonly facts: RequestFacts
  readonly hold: Pick<Config['hold'], 'likelyOutputTokens' | 'mediaRub'>
  /** Output that such responses usually have; `hold.likelyOutputTokens` unless known. */
  readonly usualOutputTokens?: number | undefined
}

/** A streamed response is held for so far ahead, beyond what was seen of it. */
export const sliceTokens = 2048
/** Where nobody says how much a model reads: no model that is offered widely reads more. */
const windowTokensUnknown = 1_048_576
const nothingSeen: SeenResponse = { outputTokens: 0, outputTokensMost: 0, toolUses: 0 }
const nothing: ExchangeCost = { likelyMicros: 0, worstMicros: 0, strictMicros: 0 }

/** The context window: what cannot be measured is taken to fill it. */
export function windowTokensOf({ model }: Pick<CostTarget, 'model'>): number {
  return model?.contextTokensMax ?? windowTokensUnknown
}

/**
 * What an exchange costs, told before it is sent: 0 without a price, else at least a millionth of a rouble, so that
 * an account without money sends nothing that has a price. Where it may be tried at several providers, the most expensive counts.
 */
export function exchangeCost(basis: CostBasis): ExchangeCost {
  const { target } = basis
  if (target.price === undefined) return nothing
  if (target.batch !== undefined) return target.batch.cost
  let cost = costThere(basis, target.price)
  for (const kind of target.otherKinds ?? [])
    cost = maxOf(cost, costThere({ ...basis, target: { ...target, provider: { kind } } }, target.price))
  return cost
}

/** At the target's own provider. */
function costThere(basis: CostBasis, price: Price): ExchangeCost {
  const { target, facts } = basis
  const bounds = boundsOf(basis, price)
  const whole: Written = { outputTokens: bounds.capTokens, rounds: bounds.rounds }
  const strictMicros = atMost(basis, bounds, whole)
  const isShown = isSeen(facts, price) && agentsOf(target.upstreamModelName) === 1
  const seen = isShown ? writtenBy(basis, bounds, nothingSeen) : whole
  const isWhole = seen.outputTokens === whole.outputTokens && seen.rounds === whole.rounds
  const worstMicros = isWhole ? strictMicros : Math.min(strictMicros, atMost(basis, bounds, seen))
  return {
    likelyMicros: Math.max(1, Math.min(worstMicros, likely(basis, bounds))),
    worstMicros,
    strictMicros,
  }
}

/** What was seen of a streamed response so far. */
export interface SeenResponse {
  /** Of its text, those that no usage has told of included: as such texts usually have, and at most. */
  readonly outputTokens: number
  readonly outputTokensMost: number
  /** Uses of tools that it has told of. */
  readonly toolUses: number
  /** What it has told that it read; what it may read is not known better before that. */
  readonly read?: Meters | undefined
}

/**
 * What a streamed response may have come to cost at most when so much of it was seen, a slice ahead: with all that
 * it was given to read, what it may have thought unseen, and one more use of its tools than it told of.
 */
export function costSeen(basis: CostBasis, seen: SeenResponse): Micros {
  const { price } = basis.target
  if (price === undefined) return 0
  const bounds = boundsOf(basis, price)
  return atMost(basis, bounds, writtenBy(basis, bounds, seen))
}

function boundsOf(basis: CostBasis, price: Price): Bounds {
  const { target, facts } = basis
  const windowTokens = windowTokensOf(target)
  const model = { providerKind: target.provider.kind, upstreamModelName: target.upstreamModelName }
  const unasked = unaskedTools(facts.media, model)
  const hasRounds = facts.tools !== undefined || facts.isCompacted === true || unasked.length > 0
  return {
    price,
    windowTokens,
    capTokens: capOf(basis),
    rounds: hasRounds ? toolRounds(facts, model, windowTokens) : noRounds,
    unasked,
    input: inputAtMost(basis, price, windowTokens),
  }
}

function writtenBy(
  { target, facts }: CostBasis,
  { capTokens, rounds: all }: Bounds,
  seen: SeenResponse,
): Written {
  const rounds = facts.showsTools === true && all.isSeen ? all.upTo(seen.toolUses + 1) : all
  // What all but one of several agents write nobody sees.
  if (agentsOf(target.upstreamModelName) > 1) return { outputTokens: capTokens, rounds: all }
  const seenTokens = seen.outputTokensMost + sliceTokens
  const { provider, upstreamModelName } = target
  const hiddenTokens =
    seenTokens < capTokens ? hiddenReasoning(upstreamModelName, provider.kind, facts.reasoning) : 0
  const outputTokens = Math.min(capTokens, seenTokens + hiddenTokens)
  return { outputTokens, rounds, read: rounds.count === 0 ? seen.read : undefined }
}

/** Its text comes as it is written, and nothing else of it has a price. */
function isSeen({ isStreaming, startsJob, mayComeWhole, units }: RequestFacts, price: Price): boolean {
  if (!isStreaming || startsJob === true || mayComeWhole === true) return false
  // Audio and images are seen when they are there: their tokens do not show before.
  const { audioOutput, imageOutput } = price.rubPerMillion
  return (units?.images ?? units?.characters ?? audioOutput ?? imageOutput) === undefined
}

/** The most that a response writes, over all of its answers. */
export function outputTokensMost(basis: CostBasis): number {
  return capOf(basis) * basis.facts.candidates
}

function capOf({ target, facts }: CostBasis): number {
  const asked = outputCap(target, facts)
  const cap = mayDraw(target, facts)
    ? Math.max(asked, drawnTokens, target.model?.outputTokensMax ?? 0)
    : asked
  const isDrawn = facts.units?.images !== undefined && target.model?.outputTokensMax === undefined
  return isDrawn ? Math.min(cap, drawnTokens) : cap
}

/** A cap bounds text: no document says that it bounds images, which some models write without being asked to. */
function mayDraw({ price }: CostTarget, { writesImages, units }: RequestFacts): boolean {
  if (writesImages === true) return true
  return price?.rubPerMillion.imageOutput !== undefined && units?.images === undefined
}

function atMost(
  basis: CostBasis,
  { price, windowTokens, input: first }: Bounds,
  { outputTokens, rounds, read: told }: Written,
): Micros {
  const { facts } = basis
  const tokens = Math.min(windowTokens, tokensOf(first.meters))
  // What is summed up is written once more.
  const written = facts.isCompacted === true ? 2 * outputTokens : outputTokens
  const agents = agentsOf(basis.target.upstreamModelName, facts.reasoning)
  const given = agents === 1 ? first.meters : mapMeters(first.meters, units => units * agents)
  const again = rounds.count === 0 ? undefined : { input: rounds.tokensAfter(tokens + written) }
  const read = told ?? addMeters(given, again)
  const { upstreamModelName, provider } = basis.target
  const unasked = writesUnasked(upstreamModelName, provider.kind) ? '5m' : undefined
  const asked: Meters = { ...facts.units }
  if (facts.keptHours !== undefined) asked.cacheStorage = tokens * facts.keptHours
  const consumed: Consumed = {
    read,
    outputTokens: agents * written * facts.candidates + (facts.predictedBytes ?? 0),
    units: addMeters(asked, feesAtMost(facts, basis.target.provider.kind, rounds.searches)),
    variant: facts.unitsVariant,
    cacheWrite: told === undefined ? (facts.cacheWrite ?? unasked) : undefined,
    wantedTier: facts.wantedTier,
  }
  const rented =
    facts.mayRent === true
      ? costAtMost(price, {
          read: {},
          outputTokens: 0,
          units: rentedUnseen.units,
          variant: rentedUnseen.unitsVariant,
        })
      : 0
  const { named = [] } = basis.target
  const work = { tokens, outputTokens: written, rounds }
  const others = named.length === 0 ? 0 : namedAtMost(basis.target, facts, work)
  const micros = costAtMost(price, consumed) + first.mediaMicros + others + rented
  return Math.max(1, Math.min(amountMicrosMax, micros))
}

interface InputAtMost {
  readonly meters: Meters
  /** Of kinds for which the operator has set an amount. */
  readonly mediaMicros: Micros
}

function inputAtMost({ target, facts, hold }: CostBasis, price: Price, windowTokens: number): InputAtMost {
  const explained = (facts.explainedTools ?? 0) + (facts.tools?.length ?? 0)
  const around = tokensAround(target.provider.kind, { requests: 1, explained })
  const text = (facts.textTokens?.most ?? facts.textBytes) + around
  const readTokensMax = facts.isReadInParts === true ? Infinity : windowTokens
  let meters: Meters = addMeters({ input: Math.min(readTokensMax, text) }, facts.context)
  let mediaMicros = 0
  const bounds = {
    price,
    providerKind: target.provider.kind,
    upstreamModelName: target.upstreamModelName,
    windowTokens,
    framesPerSecond: facts.framesPerSecond ?? 1,
  }
  for (const part of facts.media) {
    const set = hold.mediaRub[part.kind]
    if (set !== undefined) mediaMicros += parseRoubles(set)
    else {
      const [meter, units] = mediaBound(part, bounds)
      meters = addMeters(meters, { [meter]: units })
    }
  }
  if (facts.readsUnknown === true || facts.objects.some(({ kind }) => isUnread.has(kind)))
    meters.input = windowTokens
  // More than its window a model does not read: what is beyond that of a meter is refused by its provider.
  for (const meter of ['input', 'audioInput', 'imageInput'] as const) {
    const units = meters[meter]
    if (units !== undefined) meters[meter] = Math.min(units, readTokensMax)
  }
  return { meters, mediaMicros }
}

/** OpenAI's newer models write what they read to their cache without being asked to, through whomever they are asked. */
export function writesUnasked(upstreamModelName: string, providerKind = ''): boolean {
  return (
    knownProvider(providerKind).cachesUnasked === true ||
    /^(?:openai\/|ft:)?(?:gpt-|o\d)/.test(upstreamModelName)
  )
}

function likely(basis: CostBasis, { price, capTokens, unasked }: Bounds): Micros {
  const { target, facts, hold } = basis
  const searches = (facts.searches ?? 0) + (unasked.length === 0 ? 0 : searchesOf(unasked))
  const usual = basis.usualOutputTokens ?? hold.likelyOutputTokens
  const text = likelyTextTokens(facts)
  let read = addMeters({ input: text }, facts.context)
  let mediaMicros = 0
  for (const part of facts.media) {
    const set = hold.mediaRub[part.kind]
    if (set === undefined) read = addMeters(read, mediaAllowance([part], price, target.provider.kind))
    else mediaMicros += parseRoubles(set)
  }
  const asked: Meters = { ...facts.units }
  if (facts.keptHours !== undefined) asked.cacheStorage = tokensOf(read) * facts.keptHours
  const usually = costUsually(price, {
    read,
    outputTokens: Math.min(capTokens, usual) * facts.candidates,
    units: addMeters(asked, { searches, requests: 1 }),
    variant: facts.unitsVariant,
  })
  const drawing = (target.named ?? []).filter(({ isDrawing }) => isDrawing).map(one => one.price)
  const drawn = drawing.length === 0 ? 0 : drawnAtMost(drawing, text, 0, 1)
  return Math.min(amountMicrosMax, usually + mediaMicros + drawn)
}
