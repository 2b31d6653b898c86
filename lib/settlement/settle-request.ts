import { GatewayError } from '../pipeline/errors.ts'
import { headerValue } from '../http/headers.ts'
import { bytesPerToken } from '../http/text-density.ts'
import type { ChargeRequest, ChargeResult } from '../ledger/ledger.ts'
import {
  estimateInput,
  estimateOutput,
  estimateUsage,
  type CountsTokens,
  type EstimatedRequest,
  type Estimate,
} from '../metering/estimate-usage.ts'
import { unitsOf } from '../metering/unrequested-work.ts'
import { namesInput, nothingRead } from '../dialects/measure.ts'
import { usedByTools } from '../metering/expected-tokens.ts'
import type { OutputTokens, UsualOutputs } from '../metering/usual-outputs.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import { addMeters, type UsageLine, type UsageReading, type Meters } from '../money/usage.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import { chargeableReading, isReadUncounted, isUncounted, type Ending, type Owed } from './decide-owed.ts'
import { settle, isSameModel, type EstimatedLines, type PricedModel, type Work } from './settle.ts'
import { knownProvider } from '../providers/known-providers.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** What the exchange is charged for, once that is decided. */
    usage: readonly UsageLine[]
    /** What the exchange was charged, once it is durable. */
    charged: { readonly charge: ChargeRequest; readonly result: ChargeResult }
    /** Identifies the request in the provider's bill and to its support. */
    providerRequestId: string
  }
}

/** What the settlement needs beside the exchange. */
export interface SettlementContext {
  readonly directory: ModelDirectory
  /** For responses whose usage is missing. */
  readonly counter: CountsTokens
  readonly usualOutputs: UsualOutputs
  /** The expected output of a model that has not responded yet. */
  readonly likelyOutputTokens: number
}

interface EstimateContext {
  readonly request: EstimatedRequest
  readonly counter: CountsTokens
  /** The usual output of one response of this model, from other responses or the settings. */
  readonly usual: OutputTokens
  /** What it may have read by tools, as far as their use was reported. */
  readonly usedByTools: Meters | undefined
  readonly isUnreadable: boolean
}

/** What was reported, and an estimate of everything that no report covers. */
async function estimateOwed(
  owed: Owed & { readonly basis: 'estimated' },
  reading: UsageReading = nothingRead,
  context: EstimateContext,
): Promise<EstimatedLines> {
  const { lines, estimates } = await seenLines(reading, context)
  const unseen = owed.hasUnseen ? unseenTokens(lines, reading, context) : 0
  const [first = { meters: {} }, ...others] = lines
  const { usedByTools } = context
  const isTold = unseen === 0 && usedByTools === undefined
  const whole = isTold
    ? first
    : { ...first, meters: addMeters(addMeters(first.meters, { output: unseen }), usedByTools) }
  return {
    lines: [whole, ...others],
    source: reading.lines.length > 0 && estimates.length === 0 && isTold ? 'provider' : 'estimated',
    flags: [
      ...owed.flags,
      ...(estimates.some(({ isCounted, tokens }) => !isCounted && tokens > 0) ? ['estimate_rough'] : []),
      ...(unseen > 0 ? ['reasoning_estimated'] : []),
      ...(usedByTools === undefined ? [] : ['tools_estimated']),
    ],
    details: { ...sums(estimates), ...(unseen > 0 && { estimatedUnseen: unseen }) },
  }
}

async function seenLines(
  reading: UsageReading,
  { request, counter }: EstimateContext,
): Promise<{ readonly lines: readonly UsageLine[]; readonly estimates: readonly Estimate[] }> {
  const [line, ...others] = reading.lines
  if (line === undefined) {
    const { line: whole, estimates } = await estimateUsage(request, reading, counter)
    return { lines: [whole, ...(reading.beside ?? [])], estimates }
  }
  const read = namesInput(line) || !request.isGeneration ? undefined : await estimateInput(request, counter)
  // Usage that is reported on the way, as in every event of Google's, covers what arrived until then.
  const rest = reading.unmeteredTextBytes === 0 ? undefined : await estimateOutput(request, reading, counter)
  const estimates = [read, rest].filter(one => one !== undefined)
  if (estimates.length === 0) return { lines: reading.lines, estimates }
  const meters = addMeters(line.meters, {
    ...(read !== undefined && { input: read.tokens }),
    ...(rest !== undefined && { output: rest.tokens }),
  })
  return { lines: [{ ...line, meters }, ...others], estimates }
}

/** What such responses usually have beyond their text, less what was already reported of it. */
function unseenTokens(
  [line]: readonly UsageLine[],
  reading: UsageReading,
  { request: { facts, isGeneration }, usual, isUnreadable }: EstimateContext,
): number {
  if (!isGeneration) return 0
  const counted = line?.meters.output ?? 0
  const shownBytes = reading.outputTextBytes - reading.unmeteredTextBytes
  const reported = (reading.lines[0]?.meters.output ?? 0) - shownBytes / bytesPerToken
  const missing = isUnreadable
    ? usual.output * facts.candidates - counted
    : usual.unseen * facts.candidates - Math.max(0, reported)
  const most = (facts.outputTokensCap ?? Number.MAX_SAFE_INTEGER) * facts.candidates - counted
  return Math.max(0, Math.ceil(Math.min(missing, most)))
}

/** How many tokens were counted, and how many were inferred from the length of the text, for the charge. */
function sums(estimates: readonly Estimate[]): Record<string, number> {
  const sum = (isCounted: boolean): number =>
    estimates.reduce((total, estimate) => total + (estimate.isCounted === isCounted ? estimate.tokens : 0), 0)
  const byTiktoken = sum(true)
  const byBytes = sum(false)
  return {
    ...(byTiktoken > 0 && { estimatedByTiktoken: byTiktoken }),
    ...(byBytes > 0 && { estimatedByBytes: byBytes }),
  }
}

/**
 * What an exchange owes when it is over; undefined when its hold is to be released. A promise when tokens have to be
 * counted.
 * @param reading what the tap read; undefined when the provider refused or nothing could be read
 */
export function settleRequest(
  exchange: Exchange,
  outcome: Outcome,
  reading: UsageReading | undefined,
  context: SettlementContext,
): ChargeRequest | undefined | Promise<ChargeRequest | undefined> {
  const target = exchange.get('target')
  const { price } = target
  if (price === undefined) return undefined
  const { mainMeter } = exchange.get('route').match.operation
  const counted = chargeableReading(reading, mainMeter, price)
  const ending = endingOf(exchange, outcome, counted)
  const flags = ending.endedBy === 'gateway' ? ['balance_exhausted'] : []
  return settle(workOf(exchange, context), { ending, reported: reading, flags }, owed => {
    const seen = ending.isUncounted === true ? withoutCount(counted) : counted
    const facts = exchange.get('request')
    return estimateOwed(owed, seen, {
      request: estimatedRequest(exchange, price),
      counter: context.counter,
      usual: usualOf(target.modelName, context),
      usedByTools: owed.hasUnseen ? usedByTools(target, facts, seen) : undefined,
      isUnreadable: ending.isUnreadable === true,
    })
  })
}

function usualOf(model: string, { usualOutputs, likelyOutputTokens }: SettlementContext): OutputTokens {
  return usualOutputs.ofModel(model) ?? { output: likelyOutputTokens, unseen: 0 }
}

function workOf(exchange: Exchange, context: SettlementContext): Work {
  const { provider, modelName, upstreamModelName, price } = exchange.get('target')
  const route = exchange.get('route')
  return {
    provider: provider.name,
    model: modelName,
    dialect: route.dialect.name,
    operation: route.match.operation.name,
    providerRequestId: exchange.find('providerRequestId'),
    own: { name: upstreamModelName, price },
    replacedBy: model => replacedBy(model, exchange, context),
    priceOf: model => priceOfOther(model, exchange, context),
  }
}

function endingOf(exchange: Exchange, outcome: Outcome, reading: UsageReading | undefined): Ending {
  const { responseStatus: status, wasSent, drain } = exchange
  const { mainMeter } = exchange.get('route').match.operation
  const isSuccess = status !== undefined && status >= 200 && status <= 299
  const isUnreadable =
    isSuccess && outcome.kind === 'completed' && (reading?.flags.includes('answer_unreadable') ?? true)
  // The response reports that background work has failed or was canceled.
  const hasFailed = reading?.job?.state === 'failed' && reading.lines.length === 0
  const endedBy = endedByWhom(outcome, status !== undefined && !isSuccess)
  return {
    outcome: outcome.kind,
    wasSent: wasSent || status !== undefined,
    drain,
    reading: hasFailed ? { ...reading, hasError: true } : reading,
    isUnreadable,
    isUncounted: reading !== undefined && isUncounted(reading, mainMeter),
    isReadUncounted: reading !== undefined && isReadUncounted(reading, mainMeter),
    mayGoOn: exchange.get('request').startsJob === true,
    ...(endedBy !== undefined && { endedBy }),
  }
}

function endedByWhom(outcome: Outcome, isRefusal: boolean): Ending['endedBy'] {
  if (isRefusal) return 'provider'
  if (outcome.kind !== 'refused' && outcome.kind !== 'broken') return undefined
  // Every credential was tried, and refused by the provider.
  if (hasCode(outcome.error, 'credentials_exhausted')) return 'provider'
  return isSpent(outcome.error) ? 'gateway' : undefined
}

/** The gateway cut the response itself, since all the money was spent on it. */
function isSpent(error: Error): boolean {
  return hasCode(error, 'balance_insufficient') || hasCode(error, 'key_budget_exceeded')
}

function hasCode(error: Error, code: GatewayError['code']): boolean {
  return error instanceof GatewayError && error.code === code
}

function withoutCount(reading: UsageReading | undefined): UsageReading | undefined {
  return reading && { ...reading, unmeteredTextBytes: reading.outputTextBytes }
}

/** The model that answered instead of the requested one, if its provider bills it and it has a price. */
function replacedBy(
  model: string,
  exchange: Exchange,
  { directory }: SettlementContext,
): PricedModel | undefined {
  const { provider } = exchange.get('target')
  if (knownProvider(provider.kind).billsReplacements !== true) return undefined
  const entry = directory.resolve(model, provider.name)?.entry
  const price =
    entry === undefined || entry.name === '*' ? undefined : priceInForce(entry.prices, exchange.startedAt)
  return price && { name: model, price }
}

/** A line of another model has that model's price, if it is known. */
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
  const facts = exchange.get('request')
  const units = unitsOf(facts, exchange.get('target').upstreamModelName)
  return {
    facts: units === facts.units ? facts : { ...facts, ...(units && { units }) },
    price,
    json: isReadable ? exchange.find('body') : undefined,
    providerKind: exchange.get('target').provider.kind,
    isGeneration: operation.mainMeter === 'output',
  }
}
