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
import { feesAtMost, tokensAround, agentsOf, unrequestedTools } from './unrequested-work.ts'
import { mediaAllowance } from './media-allowance.ts'
import { mediaBound } from './media-bound.ts'
import { outputCap, hiddenReasoning } from './output-cap.ts'
import { noRounds, toolRounds, type ToolRounds } from './tool-rounds.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** The expected output of an exchange, in tokens. */
interface Written {
  readonly outputTokens: number
  readonly rounds: ToolRounds
  /** The known input; the most possible input if absent. */
  readonly read?: Meters | undefined
}

/** The limits of an exchange, whatever its result. */
interface Bounds {
  readonly price: Price
  readonly windowTokens: number
  readonly capTokens: number
  readonly rounds: ToolRounds
  /** The tools that the model or its provider runs without a request to do so. */
  readonly unrequested: readonly ProviderTool[]
  readonly input: InputAtMost
}

/** The target model, as far as its cost depends on it. */
export interface CostTarget extends Pick<
  Target,
  'upstreamModelName' | 'price' | 'named' | 'batch' | 'otherKinds'
> {
  readonly provider: { readonly kind: string }
  readonly model?: ModelLimits | undefined
}

/** The most tokens that a model reads and writes. */
export interface ModelLimits {
  readonly contextTokensMax?: number
  readonly outputTokensMax?: number
}

/** The facts of an exchange before it is sent. */
export interface CostBasis {
  readonly target: CostTarget
  readonly facts: RequestFacts
  readonly hold: Pick<Config['hold'], 'likelyOutputTokens' | 'mediaRub'>
  /** The usual output of such responses; `hold.likelyOutputTokens` if unknown. */
  readonly usualOutputTokens?: number | undefined
}

/** How far ahead the hold of a streamed response covers, beyond the text seen so far. */
export const sliceTokens = 2048
/** The window of a model with an unknown limit: no widely offered model reads more. */
const windowTokensUnknown = 1_048_576
const nothingSeen: SeenResponse = { outputTokens: 0, outputTokensMost: 0, toolUses: 0 }
const nothing: ExchangeCost = { likelyMicros: 0, worstMicros: 0, strictMicros: 0 }

/** The context window: input that cannot be measured counts as filling it. */
export function windowTokensOf({ model }: Pick<CostTarget, 'model'>): number {
  return model?.contextTokensMax ?? windowTokensUnknown
}

/**
 * The cost of an exchange before it is sent: 0 without a price, otherwise at least a millionth of a rouble, so that an
 * account without money cannot send anything that has a price. Of several possible providers, the most expensive
 * counts.
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

/** The cost at the target's own provider. */
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

/** The part of a streamed response seen so far. */
export interface SeenResponse {
  /** Output tokens, including those of text without reported usage: as usual for such text, and at most. */
  readonly outputTokens: number
  readonly outputTokensMost: number
  /** Reported uses of tools. */
  readonly toolUses: number
  /** The input that the response reported; until then only its maximum is known. */
  readonly read?: Meters | undefined
}

/**
 * The most that a streamed response may have cost when this much of it was seen, one slice ahead: including all of its
 * input, reasoning that is not visible, and one more use of its tools than it reported.
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
  const unrequested = unrequestedTools(facts.media, model)
  const hasRounds = facts.tools !== undefined || facts.isCompacted === true || unrequested.length > 0
  return {
    price,
    windowTokens,
    capTokens: capOf(basis),
    rounds: hasRounds ? toolRounds(facts, model, windowTokens) : noRounds,
    unrequested,
    input: inputAtMost(basis, price, windowTokens),
  }
}

function writtenBy(
  { target, facts }: CostBasis,
  { capTokens, rounds: all }: Bounds,
  seen: SeenResponse,
): Written {
  const rounds = facts.showsTools === true && all.isSeen ? all.upTo(seen.toolUses + 1) : all
  // Of several agents all but one write output that is not visible.
  if (agentsOf(target.upstreamModelName) > 1) return { outputTokens: capTokens, rounds: all }
  const seenTokens = seen.outputTokensMost + sliceTokens
  const { provider, upstreamModelName } = target
  const hiddenTokens =
    seenTokens < capTokens ? hiddenReasoning(upstreamModelName, provider.kind, facts.reasoning) : 0
  const outputTokens = Math.min(capTokens, seenTokens + hiddenTokens)
  return { outputTokens, rounds, read: rounds.count === 0 ? seen.read : undefined }
}

/** Whether its text arrives as it is written, and nothing else of it has a price. */
function isSeen({ isStreaming, startsJob, mayComeWhole, units }: RequestFacts, price: Price): boolean {
  if (!isStreaming || startsJob === true || mayComeWhole === true) return false
  // Audio and images are visible only when complete: their tokens do not show before.
  const { audioOutput, imageOutput } = price.rubPerMillion
  return (units?.images ?? units?.characters ?? audioOutput ?? imageOutput) === undefined
}

/** The most output tokens of a response, over all of its candidates. */
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

/** A cap limits text: no document says that it limits images, which some models make without a request for them. */
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
  // A compaction is written as well.
  const written = facts.isCompacted === true ? 2 * outputTokens : outputTokens
  const agents = agentsOf(basis.target.upstreamModelName, facts.reasoning)
  const given = agents === 1 ? first.meters : mapMeters(first.meters, units => units * agents)
  const again = rounds.count === 0 ? undefined : { input: rounds.tokensAfter(tokens + written) }
  const read = told ?? addMeters(given, again)
  const { upstreamModelName, provider } = basis.target
  const unasked = writesCacheByDefault(upstreamModelName, provider.kind) ? '5m' : undefined
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
  /** The amounts of media kinds for which the operator has set one. */
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
  // A model does not read more than its window: its provider refuses a meter with more.
  for (const meter of ['input', 'audioInput', 'imageInput'] as const) {
    const units = meters[meter]
    if (units !== undefined) meters[meter] = Math.min(units, readTokensMax)
  }
  return { meters, mediaMicros }
}

/** OpenAI's newer models write their input to their cache without a request to do so, through any provider. */
export function writesCacheByDefault(upstreamModelName: string, providerKind = ''): boolean {
  return (
    knownProvider(providerKind).cachesByDefault === true ||
    /^(?:openai\/|ft:)?(?:gpt-|o\d)/.test(upstreamModelName)
  )
}

function likely(basis: CostBasis, { price, capTokens, unrequested }: Bounds): Micros {
  const { target, facts, hold } = basis
  const searches = (facts.searches ?? 0) + (unrequested.length === 0 ? 0 : searchesOf(unrequested))
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
