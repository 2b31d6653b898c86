import { GatewayError } from '../pipeline/errors.ts'
import type { LocalResponse, Exchange } from '../pipeline/exchange.ts'
import type { OwnEndpoint } from '../routes/route.ts'
import { balanceAmounts, type Ledger } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import { findRateLimits } from '../rate-limits/shared-rate-limits.ts'
import { shownProvider, type Config } from '../config/config.ts'
import { rateLimitOptions } from '../config/plugin-options.ts'
import type { Limits } from '../rate-limits/rate-limits.ts'
import type { ChargeReport, Reports } from '../ledger/reports.ts'
import { isId } from '../platform/new-id.ts'
import { zonedParse, type Clock } from '../platform/clock.ts'
import type { KeyRecord } from '../accounts/accounts.ts'
import type { Bodies } from '../bodies/bodies.ts'
import type { UsualOutputs } from '../metering/usual-outputs.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { planBatch } from '../batches/plan-batch.ts'
import { roomOf } from '../ledger/as-gateway-error.ts'
import { findRoute } from '../routes/find-route.ts'
import { measureParts, withUploaded } from '../media/measure-parts.ts'
import { exchangeCost } from '../metering/exchange-cost.ts'
import { fits, waysToFit } from '../metering/ways-to-fit.ts'
import { routeRequest } from '../models/route-request.ts'
import { scanAgain } from '../routes/receive-request.ts'

/** The path that is priced when the caller does not name one. */
const pathDefault = '/v1/chat/completions'

/**
 * Quotes a request without sending it: its likely and its worst cost, whether it would be admitted, and its price. The
 * body is that of the request; `for` names its path when it is not a chat completion: `?for=/v1/messages`.
 * @throws GatewayError any error that would refuse the request itself
 */
async function quote(own: OwnRequest, query: URLSearchParams): Promise<unknown> {
  const { config, exchange, bodies, ledger } = own
  const path = query.get('for') ?? pathDefault
  const route = findRoute('POST', path, exchange.request.rawHeaders, config.providers)
  const { operation } = route.match
  const isUnpriced = operation.unsupported !== undefined || operation.body === 'streamed'
  if (route.ownEndpoint !== undefined || isUnpriced)
    throw new GatewayError('request_invalid', `${path} is nothing that can be priced.`, { param: 'for' })
  const scanned = await scanAgain(bodies, exchange, route)
  const { request: read, target } = await routeRequest({ ...own, planBatch }, exchange, route, scanned)
  const uploaded = await withUploaded(read.media, ledger, target.provider.name)
  const request = { ...read, media: await measureParts(uploaded, scanned.content) }
  const { price } = target
  const basis = {
    target,
    facts: request,
    hold: config.hold,
    usualOutputTokens: own.usualOutputs.ofAccount(own.key.accountId, target.modelName)?.output,
  }
  const cost = exchangeCost(basis)
  const balance = await ledger.balance(own.key.accountId)
  const room = roomOf(balance)
  const isAdmitted = fits(cost, room)
  const { maxTokens, advice } = isAdmitted ? { maxTokens: undefined, advice: '' } : waysToFit(basis, room)
  return {
    operation: operation.name,
    ...(target.provider.isPublic && { provider: target.provider.name }),
    model: target.modelName,
    hold: formatRoubles(cost.likelyMicros),
    likely: formatRoubles(cost.likelyMicros),
    worst: formatRoubles(room.isStrict ? cost.strictMicros : cost.worstMicros),
    available: formatRoubles(balance.availableMicros),
    risk: formatRoubles(balance.riskMicros),
    debt: formatRoubles(balance.debtMicros),
    admitted: isAdmitted,
    ...(maxTokens !== undefined && { max_tokens: maxTokens, advice: advice.trim() }),
    price:
      price === undefined
        ? null
        : {
            version: price.hash,
            rubPerMillion: price.rubPerMillion,
            rubPerUnit: price.rubPerUnit,
            above: price.above,
            factors: price.factors,
          },
  }
}

/** What an own endpoint may use. */
interface OwnRequest {
  readonly config: Config
  readonly ledger: Ledger
  readonly reports: Reports
  readonly directory: ModelDirectory
  readonly clock: Clock
  readonly bus: PipelineBus
  readonly exchange: Exchange
  readonly key: KeyRecord
  readonly bodies: Bodies
  readonly usualOutputs: UsualOutputs
}

/**
 * Responds to a request for one of the gateway's own endpoints.
 * @throws GatewayError key_missing without the auth plugin, and what the endpoint throws
 */
export async function answerOwn(
  endpoint: OwnEndpoint,
  request: Omit<OwnRequest, 'key'>,
): Promise<LocalResponse> {
  const key = request.exchange.find('key')
  if (key === undefined)
    throw new GatewayError('key_missing', 'This gateway runs without keys, so it has no accounts.')
  const value = await show(endpoint, { ...request, key })
  return {
    status: 200,
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify(value)),
  }
}

function show(endpoint: OwnEndpoint, request: OwnRequest): Promise<unknown> {
  switch (endpoint.name) {
    case 'balance':
      return showBalance(request)
    case 'key':
      return showKey(request)
    case 'charges':
      return listCharges(request, endpoint.query)
    case 'charge':
      return showCharge(request, endpoint.id ?? '')
    case 'quote':
      return quote(request, endpoint.query)
  }
}

/** The account's money in roubles: `{balance, debt, held, available, worst, risk, paid}`. */
async function showBalance({ ledger, key }: OwnRequest): Promise<unknown> {
  return balanceAmounts(await ledger.balance(key.accountId))
}

/** The caller's key, without its value: its limits and how much of them is used. */
async function showKey(own: OwnRequest): Promise<unknown> {
  const { reports, key } = own
  const budget = await reports.keyBudget(key)
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    lastFour: key.lastFour,
    models: key.models ?? null,
    ipAddresses: key.ipAddresses ?? null,
    createdAt: new Date(key.createdAt).toISOString(),
    expiresAt: key.expiresAt === undefined ? null : new Date(key.expiresAt).toISOString(),
    budget:
      budget === undefined
        ? null
        : {
            limit: formatRoubles(budget.budgetMicros),
            period: key.budgetPeriod ?? 'total',
            spent: formatRoubles(budget.spentMicros),
            held: formatRoubles(budget.heldMicros),
            available: formatRoubles(budget.availableMicros),
            resetsAt: budget.resetsAt === undefined ? null : new Date(budget.resetsAt).toISOString(),
          },
    rateLimits: await showRateLimits(own),
  }
}

/** The limits that the config sets for a key; undefined when the plugin rate-limit is not enabled. */
function limitsOfKey({ plugins }: Pick<Config, 'plugins'>, keyId: string): Limits | undefined {
  const plugin = plugins.find(({ name }) => name === 'rate-limit')
  if (plugin === undefined) return undefined
  const { keys, ...limits } = rateLimitOptions.parse(plugin.options)
  return { ...limits, ...keys[keyId] }
}

/** Null without the plugin; a limit that the key does not have is absent. */
async function showRateLimits({ config, bus, key }: OwnRequest): Promise<unknown> {
  const limits = limitsOfKey(config, key.id)
  const taken = await findRateLimits(bus)?.taken(key.id)
  if (limits === undefined || taken === undefined) return null
  const minute = (limit: number, used: number, until: number | undefined) => ({
    limit,
    used,
    available: Math.max(0, limit - used),
    resetsAt: until === undefined ? null : new Date(until).toISOString(),
  })
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits
  return {
    ...(requestsPerMinute !== undefined && {
      requestsPerMinute: minute(requestsPerMinute, taken.requests, taken.requestsUntil),
    }),
    ...(tokensPerMinute !== undefined && {
      tokensPerMinute: minute(tokensPerMinute, taken.tokens, taken.tokensUntil),
    }),
    ...(concurrentRequests !== undefined && {
      concurrentRequests: {
        limit: concurrentRequests,
        used: taken.concurrentRequests,
        available: Math.max(0, concurrentRequests - taken.concurrentRequests),
      },
    }),
  }
}

const pageMax = 1000
const pageDefault = 100

/**
 * The charges made with this key, oldest first: `{charges: [...], next}`. `limit` is the page's length, `after`
 * continues a list (`next` of the page before), `since` is an ISO date or time. Where charges are rare a page may be
 * short, or empty, and still have a `next`.
 * @throws GatewayError request_invalid
 */
async function listCharges({ config, reports, key }: OwnRequest, query: URLSearchParams): Promise<unknown> {
  const limit = readLimit(query.get('limit'))
  const after = readPlace(query.get('after'))
  const since = readTime(query.get('since'), config.timeZone)
  const page = await reports.chargesPage(
    key.accountId,
    { keyId: key.id, ...(after !== undefined && { after }), ...(since !== undefined && { since }) },
    limit,
  )
  return { charges: page.charges.map(charge => shownCharge(config, charge)), next: page.next ?? null }
}

/**
 * The charge of one exchange: final as soon as the response has ended.
 * @throws GatewayError object_not_found for an exchange of another key, or one that cost nothing
 */
async function showCharge({ config, reports, key }: OwnRequest, requestId: string): Promise<unknown> {
  for await (const charge of reports.charges(key.accountId, { keyId: key.id, exchangeId: requestId }))
    return shownCharge(config, charge)
  throw new GatewayError('object_not_found', `No charge of this key has the request id "${requestId}".`)
}

/** Omits the name of a provider that is not public, and the provider's id of the request. */
function shownCharge(
  config: OwnRequest['config'],
  { provider, providerRequestId, ...charge }: ChargeReport,
): Partial<ChargeReport> {
  if (shownProvider(config, provider) === undefined) return charge
  return { ...charge, provider, ...(providerRequestId !== undefined && { providerRequestId }) }
}

function readLimit(text: string | null): number {
  if (text === null) return pageDefault
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= pageMax) return limit
  throw new GatewayError('request_invalid', `limit is a whole number from 1 to ${pageMax}.`, {
    param: 'limit',
  })
}

function readPlace(text: string | null): string | undefined {
  if (text === null) return undefined
  const [id = '', sequence = '0', ...more] = text.split('.', 3)
  if (isId(id) && /^\d{1,9}$/.test(sequence) && more.length === 0) return text
  throw new GatewayError(
    'request_invalid',
    'after is where to go on: next of the page before, or the request id of a charge.',
    { param: 'after' },
  )
}

function readTime(text: string | null, zone: string): number | undefined {
  if (text === null) return undefined
  const time = zonedParse(text, zone)
  if (!Number.isNaN(time)) return time
  throw new GatewayError('request_invalid', 'since is a date or time such as 2027-01-31T12:00:00Z.', {
    param: 'since',
  })
}
