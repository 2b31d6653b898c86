import { GatewayError } from '../pipeline/errors.ts'
import { headerValue } from '../http/headers.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import type { CountsTokens, EstimatedRequest } from '../metering/estimate-usage.ts'
import { isSameModel } from '../metering/is-same-model.ts'
import { usedByTools } from '../metering/used-by-tools.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { UsageLine, UsageReading } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import { decideOwed, type Ending, type Owed } from './decide-owed.ts'
import { estimateOwed, type EstimatedLines } from './estimate-owed.ts'
import { priceLines } from './price-lines.ts'
import type { UsualOutput, UsualOutputs } from './usual-output.ts'

declare module '../pipeline/facts.ts' {
  interface Facts {
    /** By which the provider's bill and support know the request. */
    providerRequestId: string
  }
}

/** What settling needs beside the exchange. */
export interface SettlementContext {
  readonly directory: ModelDirectory
  /** For responses whose usage is missing. */
  readonly counter: CountsTokens
  readonly usual: UsualOutputs
  /** What is expected of a model of which no response has come yet. */
  readonly likelyOutputTokens: number
}

/**
 * What an exchange owes, now that it is over; undefined when its hold is to be released. A promise where tokens
 * have to be counted.
 * @param reading what the tap read; undefined when the provider refused or nothing could be read
 */
export function settleRequest(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  context: SettlementContext,
): ChargeRequest | undefined | Promise<ChargeRequest | undefined> {
  const target = exchange.get('target')
  const { price, upstreamModelName } = target
  if (price === undefined) return undefined
  const ending = endingOf(exchange, outcome, reading)
  const owed = decideOwed(ending)
  if (owed.basis === 'nothing') return undefined
  if (owed.basis === 'estimated') {
    const seen = ending.isUncounted === true ? withoutCount(reading) : reading
    return estimateOwed(owed, seen, {
      request: estimatedRequest(exchange, price),
      counter: context.counter,
      usual: usualOf(upstreamModelName, context),
      usedByTools: owed.hasUnseen ? usedByTools(target, exchange.get('request'), seen) : undefined,
      isUnreadable: ending.isUnreadable === true,
    }).then(estimate => chargeFor(exchange, outcome, reading, estimate, context))
  }
  if (reading !== undefined && owed.basis === 'reported') context.usual.observe(upstreamModelName, reading)
  return chargeFor(exchange, outcome, reading, known(owed, reading), context)
}

function usualOf(model: string, { usual, likelyOutputTokens }: SettlementContext): UsualOutput {
  return usual.of(model) ?? { output: likelyOutputTokens, unseen: 0 }
}

interface Decided extends Partial<Pick<EstimatedLines, 'details'>> {
  readonly lines: readonly UsageLine[]
  readonly source: ChargeRequest['usageSource']
  readonly flags: readonly string[]
}

function known(owed: Owed & { basis: 'zero' | 'reported' }, reading: UsageReading | undefined): Decided {
  if (owed.basis === 'zero') return { lines: [], source: 'provider', flags: owed.flags }
  return { lines: reading?.lines ?? [], source: owed.source, flags: owed.flags }
}

function endingOf(exchange: Exchange, outcome: Outcome, reading: UsageReading | undefined): Ending {
  const { answerStatus: status, wasSent, drain } = exchange
  const isSuccess = status !== undefined && status >= 200 && status <= 299
  const isUnreadable =
    isSuccess && outcome.kind === 'completed' && (reading?.flags.includes('answer_unreadable') ?? true)
  const endedBy = endedByWhom(outcome, status !== undefined && !isSuccess)
  return {
    outcome: outcome.kind,
    wasSent: wasSent || status !== undefined,
    drain,
    reading: reading !== undefined && hasFailedWork(reading) ? { ...reading, hasError: true } : reading,
    isUnreadable,
    isUncounted: reading !== undefined && isUncounted(reading),
    mayGoOn: exchange.get('request').startsJob === true,
    ...(endedBy !== undefined && { endedBy }),
  }
}

/** A count that is no number was left out, so that the text would be free. */
function isUncounted({ flags, lines, outputTextBytes }: UsageReading): boolean {
  return outputTextBytes > 0 && flags.includes('usage_invalid') && (lines[0]?.meters.output ?? 0) === 0
}

/** The answer says of background work that it has failed or was cancelled. */
function hasFailedWork({ job, lines }: UsageReading): boolean {
  return job?.state === 'failed' && lines.length === 0
}

function endedByWhom(outcome: Outcome, isRefusal: boolean): Ending['endedBy'] {
  if (isRefusal) return 'provider'
  if (outcome.kind !== 'refused' && outcome.kind !== 'broken') return undefined
  // Each credential was tried, and refused by the provider.
  if (hasCode(outcome.error, 'credentials_exhausted')) return 'provider'
  return isSpent(outcome.error) ? 'gateway' : undefined
}

/** The gateway cut the answer itself, since all the money was spent on it. */
function isSpent(error: Error): boolean {
  return hasCode(error, 'balance_insufficient') || hasCode(error, 'key_budget_exceeded')
}

function hasCode(error: Error, code: GatewayError['code']): boolean {
  return error instanceof GatewayError && error.code === code
}

function chargeFor(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  decided: Decided,
  context: SettlementContext,
): ChargeRequest {
  const { provider, modelName, upstreamModelName, price } = exchange.get('target')
  const route = exchange.get('route')
  const details = { ...reading?.details, ...decided.details }
  const flags = new Set([...(reading?.flags ?? []), ...decided.flags])
  if (outcome.kind === 'broken' && isSpent(outcome.error)) flags.add('balance_exhausted')
  const answered =
    reading?.model === undefined ? undefined : priceOfAnswered(reading.model, exchange, context)
  if (answered === 'another') flags.add('model_mismatch')
  const own = typeof answered === 'object' ? answered : { name: upstreamModelName, price }
  const lines = priceLines(decided.lines, own, model => priceOfOther(model, exchange, context), flags)
  const providerRequestId = exchange.find('providerRequestId') ?? reading?.providerRequestId
  return {
    provider: provider.name,
    model: modelName,
    dialect: route.dialect.name,
    operation: route.match.operation.name,
    outcome: outcome.kind,
    usageSource: decided.source,
    lines,
    ...(reading?.raw !== undefined && { rawUsage: reading.raw }),
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
    flags: [...flags],
  }
}

function withoutCount(reading: UsageReading | undefined): UsageReading | undefined {
  return reading && { ...reading, unmeteredTextBytes: reading.outputTextBytes }
}

/** Providers that answer for retired models by others, and bill those: 49 of 49 recordings of `grok-3-mini`. */
const replacing: ReadonlySet<string> = new Set(['xai'])

/** The model that answered in place of the one that was asked for, where its provider bills it and it has a price. */
function priceOfAnswered(
  model: string,
  exchange: Exchange,
  { directory }: SettlementContext,
): { readonly name: string; readonly price: Price } | 'another' | undefined {
  const { provider, upstreamModelName } = exchange.get('target')
  if (isSameModel(model, upstreamModelName)) return undefined
  if (!replacing.has(provider.kind)) return 'another'
  const entry = directory.resolve(model, provider.name)?.entry
  const price =
    entry === undefined || entry.name === '*' ? undefined : priceInForce(entry.prices, exchange.startedAt)
  return price === undefined ? 'another' : { name: model, price }
}

/** A line of another model has that model's price, where it is known. */
function priceOfOther(
  model: string,
  exchange: Exchange,
  { directory }: SettlementContext,
): Price | undefined {
  const { named = [] } = exchange.get('target')
  const entry = directory.resolve(model, undefined)?.entry
  const byRequest = named.find(({ names }) => names.some(name => isSameModel(model, name)))?.price
  return byRequest ?? (entry && priceInForce(entry.prices, exchange.startedAt))
}

function estimatedRequest(exchange: Exchange, price: Price): EstimatedRequest {
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
