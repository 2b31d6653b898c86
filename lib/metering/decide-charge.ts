import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { UsageLine, UsageReading } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import { estimateUsage } from './estimate-usage.ts'

export interface ChargeContext {
  readonly config: Config
  readonly directory: ModelDirectory
}

interface Owed {
  readonly lines: readonly UsageLine[]
  readonly source: ChargeRequest['usageSource']
  readonly flags: readonly string[]
}

/** Providers that are known not to bill a request whose client left before anything was delivered. */
const freeAborts: ReadonlySet<string> = new Set(['openai', 'anthropic', 'deepseek', 'xai', 'sandbox'])

/**
 * What an exchange owes, now that it is over; undefined when its hold is to be released.
 * @param reading what the tap read; undefined when the provider refused or nothing could be read
 */
export function decideCharge(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  context: ChargeContext,
): ChargeRequest | undefined {
  const owed = owedFor(exchange, outcome, reading, context)
  if (owed === undefined) return undefined
  const { provider, modelName, upstreamModelName, price } = exchange.get('target')
  const route = exchange.get('route')
  if (price === undefined) return undefined
  const flags = new Set([...(reading?.flags ?? []), ...owed.flags])
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
    ...(reading?.details !== undefined && { details: reading.details }),
    flags: [...flags],
  }
}

function owedFor(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  { config }: ChargeContext,
): Owed | undefined {
  if (outcome.kind === 'refused') return owedWhenRefused(exchange, outcome.error)
  if (outcome.kind === 'aborted' && !exchange.wasSent) return undefined
  if (reading === undefined) return owedUnread(exchange, outcome)
  const facts = exchange.get('request')
  const { bytesPerToken } = config.hold
  if (reading.hasError && !reading.hasOutput) return undefined
  if (outcome.kind === 'aborted') return owedWhenAborted(exchange, reading, facts, bytesPerToken)
  if (reading.lines.length > 0) return { lines: reading.lines, source: 'provider', flags: [] }
  if (reading.hasOutput) {
    return {
      lines: [estimateUsage(facts, reading, bytesPerToken)],
      source: 'estimated',
      flags: ['usage_missing'],
    }
  }
  if (outcome.kind === 'broken') return undefined
  return { lines: [], source: 'provider', flags: ['usage_missing'] }
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
function owedUnread(exchange: Exchange, outcome: Outcome): Owed | undefined {
  const { answerStatus } = exchange
  if (answerStatus === undefined) return outcome.kind === 'aborted' ? owedUnanswered(exchange) : undefined
  if (answerStatus < 200 || answerStatus > 299) return undefined
  return { lines: [], source: 'provider', flags: ['usage_unreadable'] }
}

/** The client left before the provider answered. */
function owedUnanswered(exchange: Exchange): Owed | undefined {
  if (freeAborts.has(exchange.get('target').provider.kind)) return undefined
  return { lines: [], source: 'estimated', flags: ['ambiguous'] }
}

function owedWhenAborted(
  exchange: Exchange,
  reading: UsageReading,
  facts: RequestFacts,
  bytesPerToken: number,
): Owed | undefined {
  if (reading.isTerminal && reading.lines.length > 0) {
    return {
      lines: reading.lines,
      source: exchange.onClientLeft === 'drain' ? 'drained' : 'provider',
      flags: [],
    }
  }
  const isFree = !reading.hasOutput && freeAborts.has(exchange.get('target').provider.kind)
  if (isFree) return undefined
  const estimate = estimateUsage(facts, reading, bytesPerToken)
  const [line] = reading.lines
  if (line === undefined) return { lines: [estimate], source: 'estimated', flags: [] }
  // Anthropic's first event reports the input and one provisional token of output: what was delivered counts.
  const output = Math.max(line.meters.output ?? 0, estimate.meters.output ?? 0)
  if (output === (line.meters.output ?? 0)) return { lines: reading.lines, source: 'provider', flags: [] }
  const raised = { ...line, meters: { ...line.meters, output } }
  return { lines: [raised, ...reading.lines.slice(1)], source: 'estimated', flags: [] }
}

/** A line of another model (a fallback, an advisor) has that model's price, where it is known. */
function priceOf(
  line: UsageLine,
  exchange: Exchange,
  price: Price,
  { directory }: ChargeContext,
  flags: Set<string>,
): Price {
  const { upstreamModelName } = exchange.get('target')
  if (line.model === undefined || isSameModel(line.model, upstreamModelName)) return price
  const entry = directory.resolve(line.model, undefined)?.entry
  const own = entry === undefined ? undefined : priceInForce(entry.prices, exchange.startedAt)
  if (own === undefined) flags.add('model_unpriced')
  return own ?? price
}

/** Answers name a dated snapshot (`gpt-5-2025-08-07`) or a path (`models/gemini-...`) of the model asked for. */
function isSameModel(answered: string, asked: string): boolean {
  const plain = answered.replace(/^models\//, '').toLowerCase()
  const wanted = asked.replace(/^models\//, '').toLowerCase()
  return (
    plain.startsWith(wanted) ||
    wanted.startsWith(plain) ||
    plain.endsWith(`/${wanted}`) ||
    wanted.endsWith(`/${plain}`)
  )
}
