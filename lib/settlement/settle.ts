import type { ChargeRequest } from '../ledger/ledger.ts'
import { type Price, ratesOf } from '../money/price.ts'
import type { UsageLine, UsageReading } from '../money/usage.ts'
import { decideOwed, type Ending, type Owed, type SentEnding, payableUsage } from './decide-owed.ts'
import { priceLine } from '../money/price-line.ts'
import { knownProviders } from '../providers/known-providers.ts'

/** The requested model, at its provider, and its price. */
export interface PricedModel {
  readonly name: string
  /** Undefined when the request named no model. */
  readonly price: Price | undefined
}

/** Work that was requested from a provider, as its charge describes it: a request, a turn of a session, or a job. */
export interface Work extends Pick<ChargeRequest, 'provider' | 'model' | 'dialect' | 'operation'> {
  /** Identifies it in the provider's bill and to its support. */
  readonly providerRequestId?: string | undefined
  /** The requested model. */
  readonly own: PricedModel
  /** The model that is billed when another one has answered; undefined when the requested one is, with a flag. */
  readonly replacedBy?: (model: string) => PricedModel | undefined
  /** The price of another model by its name at the provider. */
  readonly priceOf: (model: string) => Price | undefined
}

/** What was read of a response, as far as its charge depends on it. */
type Reported = Pick<UsageReading, 'lines' | 'flags'> &
  Partial<Pick<UsageReading, 'raw' | 'details' | 'model' | 'providerRequestId'>>

/** Lines that no provider has fully reported, and where they come from. */
export interface EstimatedLines {
  readonly lines: readonly UsageLine[]
  /** `provider` when its last report covers everything. */
  readonly source: 'estimated' | 'provider'
  readonly flags: readonly string[]
  /** Tokens by their origin: counted, inferred from a length, or usual for such responses. */
  readonly details?: Readonly<Record<string, number>>
}

interface Decided extends Omit<EstimatedLines, 'source'> {
  readonly source: ChargeRequest['usageSource']
}

/** How some work ended, and what was read of it. */
interface WorkEnd<E extends Ending = Ending> {
  readonly ending: E
  readonly reported?: Reported | undefined
  /** Additional flags. */
  readonly flags?: readonly string[]
}

type OwedEstimate = Owed & { readonly basis: 'estimated' }

/** Up to this factor, a difference is rounding or prices a little out of date, and not a cost beyond the meters. */
const statedTolerance = 1.01
/** The tokens of speech were inferred from its length. */
const spokenFlag = 'speech_measured'
/** Units have six decimals. */
const unitScale = 1e6

/** Lines with these flags come from the request, or from what arrived, and not from a provider's count. */
const notTold = ['size_estimated', 'drawing_uncounted', 'estimate_rough', spokenFlag] as const

/** A date in a name, and other marks of snapshots of one model. */
const dates = /(?:^|[-@:])(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{8})(?=$|[-@:])/g
const snapshotWords = /^(?:\d{3,4}|v\d|latest|preview|exp|0)$/

/** Names that providers document as aliases: the model in their response begins with the value. */
const aliases: ReadonlyMap<string, string> = new Map(
  [...knownProviders.values()].flatMap(({ modelAliases = {} }) => Object.entries(modelAliases)),
)

/**
 * What some work owes when it is over: the one settlement of requests, turns of sessions and jobs.
 * @param estimate estimates what was used and not reported; its flags include those of `owed`
 * @returns undefined when nothing was sent, so that the hold is to be released (whatever was sent leaves a charge); a
 * promise when `estimate` returns one
 */
export function settle(
  work: Work,
  end: WorkEnd<SentEnding>,
  estimate: (owed: OwedEstimate) => EstimatedLines,
): ChargeRequest
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => EstimatedLines,
): ChargeRequest | undefined
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => Promise<EstimatedLines>,
): ChargeRequest | undefined | Promise<ChargeRequest>
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => EstimatedLines | Promise<EstimatedLines>,
): ChargeRequest | undefined | Promise<ChargeRequest> {
  const owed = decideOwed(end.ending)
  if (owed.basis === 'nothing') return undefined
  if (owed.basis === 'zero') return chargeOf(work, end, { lines: [], source: 'provider', flags: owed.flags })
  if (owed.basis === 'reported') {
    const { lines = [] } = end.reported ?? {}
    return chargeOf(work, end, { lines, source: owed.source, flags: owed.flags })
  }
  const estimated = estimate(owed)
  if (!(estimated instanceof Promise)) return chargeOf(work, end, estimated)
  return estimated.then(lines => chargeOf(work, end, lines))
}

/** A charge for known lines. */
export function chargeOf(
  work: Work,
  { ending, reported, flags = [] }: WorkEnd,
  decided: Decided,
): ChargeRequest {
  const raised = new Set([...(reported?.flags ?? []), ...decided.flags, ...flags])
  const own = answeringModel(work, reported?.model, raised)
  const lines = priceLines(decided.lines, own, model => work.priceOf(model), raised)
  const details = { ...reported?.details, ...decided.details }
  const beyond = statedBeyond(lines, reported?.details?.['costUsd'], own.price)
  if (beyond !== undefined) raised.add('cost_stated')
  const providerRequestId = work.providerRequestId ?? reported?.providerRequestId
  return {
    provider: work.provider,
    model: work.model,
    dialect: work.dialect,
    operation: work.operation,
    outcome: ending.outcome,
    usageSource: notTold.some(flag => raised.has(flag)) ? 'estimated' : decided.source,
    lines: beyond === undefined ? lines : [...lines, beyond],
    ...(reported?.raw !== undefined && { rawUsage: reported.raw }),
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
    ...(reported?.model !== undefined && { answeredModel: reported.model }),
    flags: [...raised],
  }
}

function answeringModel(
  { own, replacedBy }: Work,
  answered: string | undefined,
  flags: Set<string>,
): PricedModel {
  if (answered === undefined || own.name === '' || isSameModel(answered, own.name)) return own
  const other = replacedBy?.(answered)
  if (other === undefined) flags.add('model_mismatch')
  return other ?? own
}

/**
 * What a provider states that work cost beyond its meters, where the price has a rate for a stated dollar. OpenRouter bills
 * advisors and Google's caches with a response and counts them in no meter of it.
 * https://openrouter.ai/docs/use-cases/usage-accounting
 */
export function statedBeyond(
  lines: ChargeRequest['lines'],
  costUsd: number | undefined,
  price: Price | undefined,
): ChargeRequest['lines'][number] | undefined {
  if (price === undefined || costUsd === undefined || !(costUsd > 0)) return undefined
  const rate = ratesOf(price).perUnit.get('statedUsd')
  if (rate === undefined || rate === 0n) return undefined
  const inMicros = (statedUsd: number): number => priceLine(price, { meters: { statedUsd } }).amountMicros
  const meteredMicros = lines.reduce((sum, line) => sum + priceLine(line.price, line.usage).amountMicros, 0)
  const statedMicros = inMicros(costUsd)
  if (statedMicros <= meteredMicros * statedTolerance) return undefined
  const statedUsd = Math.round(((statedMicros - meteredMicros) / inMicros(1)) * unitScale) / unitScale
  return statedUsd > 0 ? { usage: { meters: { statedUsd } }, price } : undefined
}

/**
 * Gives each line its price: that of the requested model, unless the line is another model's (a fallback, an advisor,
 * one that draws or transcribes).
 * @param priceOf the price of another model by its name at the provider; without one, the line is flagged and priced as
 * the requested model
 */
function priceLines(
  lines: readonly UsageLine[],
  own: PricedModel,
  priceOf: (model: string) => Price | undefined,
  flags: Set<string>,
): ChargeRequest['lines'] {
  const priced: { usage: UsageLine; price: Price }[] = []
  for (const usage of lines) {
    const isOwn = usage.model === undefined || isSameModel(usage.model, own.name)
    const named = isOwn ? undefined : priceOf(usage.model)
    if (named === undefined && (!isOwn || own.price === undefined)) flags.add('model_unpriced')
    const price = named ?? own.price
    if (price === undefined) continue
    const payable = payableUsage(usage, price)
    if (payable.usage.meters.audioOutput === undefined) flags.delete(spokenFlag)
    if (payable.isShort) flags.add('meter_unpriced')
    priced.push({ usage: payable.usage, price })
  }
  return priced
}

/**
 * Whether a response names the requested model: as a dated snapshot (`gpt-5-2025-08-07`), a path (`models/gemini-...`),
 * the same words in another order (`claude-haiku-4.5`, `claude-4.5-haiku-20251001`), the version that a `-latest`
 * resolves to, or a documented alias.
 */
export function isSameModel(answered: string, asked: string): boolean {
  const plain = lastSegment(answered)
  const wanted = lastSegment(asked)
  if (plain === wanted) return true
  const alias = aliases.get(wanted)
  if (alias !== undefined && plain.startsWith(alias)) return true
  const ours = wordsOf(plain)
  const theirs = wordsOf(wanted)
  if (ours.join() === theirs.join()) return true
  return wanted.endsWith('-latest') && withoutVersions(ours) === withoutVersions(theirs)
}

/** Sorted, so that their order in the name does not matter. */
function wordsOf(name: string): readonly string[] {
  const words = withoutVariant(name)
    .replaceAll(dates, '')
    .split(/[-.@_]/)
  return words.filter(word => word !== '' && !snapshotWords.test(word)).toSorted()
}

function withoutVersions(words: readonly string[]): string {
  return words.filter(word => !/^\d+$/.test(word)).join()
}

/** Removes OpenRouter's `:free` and the like, and the date that OpenAI's oldest models have there. */
function withoutVariant(name: string): string {
  const colon = name.indexOf(':')
  return colon === -1 ? name : name.slice(0, colon)
}

/** Vendors and folders before the name differ between a provider and its resellers. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase()
}
