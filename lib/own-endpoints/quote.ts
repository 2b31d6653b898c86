import { planBatch } from '../batches/plan-batch.ts'
import { roomOf } from '../ledger/as-gateway-error.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { findRoute } from '../routes/find-route.ts'
import { measureParts, withUploaded } from '../media/measure-parts.ts'
import { exchangeCost } from '../metering/exchange-cost.ts'
import { fits, waysToFit } from '../metering/ways-to-fit.ts'
import { routeRequest } from '../models/route-request.ts'
import { formatRoubles } from '../money/amount.ts'
import { scanAgain } from '../routes/receive-request.ts'
import type { OwnRequest } from './answer-own.ts'

/** What is priced when the caller does not say which path the body is meant for. */
const pathDefault = '/v1/chat/completions'

/**
 * What a request likely costs and at worst, whether it would be admitted, and at which price, without sending it. The
 * body is that of the request;
 * `for` names its path when it is not a chat completion: `?for=/v1/messages`.
 * @throws GatewayError whatever the request itself would be refused with
 */
export async function quote(own: OwnRequest, query: URLSearchParams): Promise<unknown> {
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
