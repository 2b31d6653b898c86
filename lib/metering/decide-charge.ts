import { GatewayError } from '../errors.ts'
import { headerValue } from '../http/headers.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { UsageLine, UsageReading } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import { estimateOutput, estimateUsage } from './estimate-usage.ts'
import type { CountsTokens, Estimate, EstimatedRequest } from './estimate-usage.ts'
import { isSameModel } from './is-same-model.ts'

interface ChargeContext {
  readonly directory: ModelDirectory
  /** For answers whose usage is missing. */
  readonly counter: CountsTokens
}

interface Owed {
  readonly lines: readonly UsageLine[]
  readonly source: ChargeRequest['usageSource']
  readonly flags: readonly string[]
  /** How an estimate came about. */
  readonly details?: Readonly<Record<string, number>>
}

const nothingRead: UsageReading = {
  lines: [],
  isTerminal: false,
  hasError: false,
  hasOutput: false,
  outputTextBytes: 0,
  unmeteredTextBytes: 0,
  flags: [],
}

/** Providers that are known not to bill a request whose client left before anything was delivered. */
const freeAborts: ReadonlySet<string> = new Set(['openai', 'anthropic', 'deepseek', 'xai', 'sandbox'])

/** Whether a provider, by its kind, bills nothing when nothing was delivered to a client that left. */
export function isFreeAbort(providerKind: string): boolean {
  return freeAborts.has(providerKind)
}

/**
 * What an exchange owes, now that it is over; undefined when its hold is to be released. A promise where tokens
 * have to be counted.
 * @param reading what the tap read; undefined when the provider refused or nothing could be read
 */
export function decideCharge(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  context: ChargeContext,
): ChargeRequest | undefined | Promise<ChargeRequest | undefined> {
  const { price } = exchange.get('target')
  if (price === undefined) return undefined
  const priced: Priced = { exchange, price, counter: context.counter }
  const owed = owedFor(priced, outcome, reading)
  return owed instanceof Promise
    ? owed.then(known => chargeFor(priced, outcome, reading, known, context))
    : chargeFor(priced, outcome, reading, owed, context)
}

function chargeFor(
  { exchange, price }: Priced,
  outcome: Outcome,
  reading: UsageReading | undefined,
  owed: Owed | undefined,
  context: ChargeContext,
): ChargeRequest | undefined {
  if (owed === undefined) return undefined
  const { provider, modelName, upstreamModelName } = exchange.get('target')
  const route = exchange.get('route')
  const details = { ...reading?.details, ...owed.details }
  const flags = new Set([...(reading?.flags ?? []), ...owed.flags])
  if (outcome.kind === 'broken' && isSpent(outcome.error)) flags.add('balance_exhausted')
  if (reading?.model !== undefined && !isSameModel(reading.model, upstreamModelName))
    flags.add('model_mismatch')
  return {
    provider: provider.name,
    model: modelName,
    dialect: route.dialect.name,
    operation: route.match.operation.name,
    outcome: outcome.kind,
    usageSource: owed.source,
    lines: owed.lines.map(usage => ({ usage, price: priceOf(usage, exchange, price, context, flags) })),
    ...(reading?.raw !== undefined && { rawUsage: reading.raw }),
    ...(Object.keys(details).length > 0 && { details }),
    flags: [...flags],
  }
}

/** The gateway cut the answer itself, since all the money was spent on it. */
function isSpent(error: Error): boolean {
  return error instanceof GatewayError && error.code === 'balance_insufficient'
}

/** An exchange that has a price, and what counts its tokens where its provider did not. */
interface Priced {
  readonly exchange: Exchange
  readonly price: Price
  readonly counter: CountsTokens
}

function owedFor(
  priced: Priced,
  outcome: Outcome,
  reading: UsageReading | undefined,
): Owed | undefined | Promise<Owed | undefined> {
  const { exchange } = priced
  if (outcome.kind === 'refused') return owedWhenRefused(exchange, outcome.error)
  if (outcome.kind === 'aborted' && !exchange.wasSent) return undefined
  if (reading === undefined) return owedUnread(priced, outcome)
  if (reading.hasError && !reading.hasOutput) return undefined
  if (outcome.kind === 'aborted') return owedWhenAborted(priced, reading)
  if (outcome.kind === 'broken' && !reading.isTerminal) {
    return reading.hasOutput ? owedForDelivered(priced, reading) : undefined
  }
  if (reading.lines.length > 0) {
    // An error is charged by the last usage that was told before it.
    const isSettled = reading.isTerminal || reading.hasError
    return isSettled
      ? { lines: reading.lines, source: 'provider', flags: [] }
      : owedForDelivered(priced, reading)
  }
  return reading.hasOutput
    ? owedForUntold(priced, reading)
    : { lines: [], source: 'provider', flags: ['usage_missing'] }
}

/** The answer is whole, and its usage is not in it. */
async function owedForUntold(priced: Priced, reading: UsageReading): Promise<Owed> {
  const { line, estimates } = await estimateUsage(estimatedRequest(priced), reading, priced.counter)
  return estimated([line, ...(reading.beside ?? [])], estimates, ['usage_missing'])
}

/** The charge says how many tokens were counted, and how many only taken from the length of the text. */
function estimated(
  lines: readonly UsageLine[],
  estimates: readonly Estimate[],
  flags: readonly string[] = [],
): Owed {
  const sum = (isCounted: boolean): number =>
    estimates.reduce((total, estimate) => total + (estimate.isCounted === isCounted ? estimate.tokens : 0), 0)
  const byTiktoken = sum(true)
  const byBytes = sum(false)
  return {
    lines,
    source: 'estimated',
    flags: byBytes > 0 ? [...flags, 'estimate_rough'] : flags,
    details: {
      ...(byTiktoken > 0 && { estimatedByTiktoken: byTiktoken }),
      ...(byBytes > 0 && { estimatedByBytes: byBytes }),
    },
  }
}

function estimatedRequest({ exchange, price }: Priced): EstimatedRequest {
  const { operation } = exchange.get('route').match
  const encoding = headerValue(exchange.request.rawHeaders, 'content-encoding') ?? ''
  const isReadable = operation.factsFromJson !== undefined && (encoding === '' || encoding === 'identity')
  return {
    facts: exchange.get('request'),
    price,
    json: isReadable ? exchange.find('body') : undefined,
    providerKind: exchange.get('target').provider.kind,
    isGeneration: operation.mainMeter === 'output',
  }
}

/** A request that was sent and got no answer may have been worked on: it is listed, and charged nothing. */
function owedWhenRefused(exchange: Exchange, error: Error): Owed | undefined {
  const isAmbiguous =
    exchange.wasSent &&
    error instanceof GatewayError &&
    (error.code === 'upstream_failed' || error.code === 'upstream_timeout')
  return isAmbiguous ? { lines: [], source: 'provider', flags: ['ambiguous'] } : undefined
}

/** No reader looked at the answer: it was not a success, had an unknown encoding, or never came. */
function owedUnread(priced: Priced, outcome: Outcome): Owed | undefined | Promise<Owed | undefined> {
  const { answerStatus } = priced.exchange
  if (answerStatus === undefined) return outcome.kind === 'aborted' ? owedUnanswered(priced) : undefined
  if (answerStatus < 200 || answerStatus > 299) return undefined
  return { lines: [], source: 'provider', flags: ['usage_unreadable'] }
}

/** The client left before the provider answered: it has read the request, and may have written an answer. */
async function owedUnanswered(priced: Priced): Promise<Owed | undefined> {
  // A job that may run, but whose name nobody knows, cannot be asked after.
  if (priced.exchange.get('request').startsJob === true)
    return { lines: [], source: 'provider', flags: ['ambiguous'] }
  if (freeAborts.has(priced.exchange.get('target').provider.kind)) return undefined
  const { line, estimates } = await estimateUsage(estimatedRequest(priced), nothingRead, priced.counter)
  return estimated([line], estimates, ['ambiguous'])
}

function owedWhenAborted(priced: Priced, reading: UsageReading): Owed | undefined | Promise<Owed> {
  const { exchange } = priced
  if (reading.isTerminal && reading.lines.length > 0) {
    return {
      lines: reading.lines,
      source: exchange.onClientLeft === 'drain' ? 'drained' : 'provider',
      flags: [],
    }
  }
  const isFree = !reading.hasOutput && freeAborts.has(exchange.get('target').provider.kind)
  return isFree ? undefined : owedForDelivered(priced, reading)
}

/** What the provider reported, and an estimate of what came after its last report, as of an answer that is not whole. */
async function owedForDelivered(priced: Priced, reading: UsageReading): Promise<Owed> {
  const { counter } = priced
  const [line] = reading.lines
  if (line === undefined) {
    const { line: whole, estimates } = await estimateUsage(estimatedRequest(priced), reading, counter)
    return estimated([whole, ...(reading.beside ?? [])], estimates)
  }
  // Usage told on the way, as with every event of Google's, covers what came until then.
  if (reading.unmeteredTextBytes === 0) return { lines: reading.lines, source: 'provider', flags: [] }
  const rest = await estimateOutput(estimatedRequest(priced), reading, counter)
  const output = (line.meters.output ?? 0) + rest.tokens
  return estimated([{ ...line, meters: { ...line.meters, output } }, ...reading.lines.slice(1)], [rest])
}

/** A line of another model (a fallback, an advisor) has that model's price, where it is known. */
function priceOf(
  line: UsageLine,
  exchange: Exchange,
  price: Price,
  { directory }: ChargeContext,
  flags: Set<string>,
): Price {
  const { upstreamModelName, named = [] } = exchange.get('target')
  if (line.model === undefined || isSameModel(line.model, upstreamModelName)) return price
  const { model } = line
  const entry = directory.resolve(model, undefined)?.entry
  const byRequest = named.find(({ names }) => names.some(name => isSameModel(model, name)))?.price
  const own = byRequest ?? (entry && priceInForce(entry.prices, exchange.startedAt))
  if (own === undefined) flags.add('model_unpriced')
  return own ?? price
}
