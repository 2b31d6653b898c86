import { GatewayError } from '../errors.ts'
import { findRoute } from '../find-route.ts'
import { measureParts, withUploaded } from '../media/measure-parts.ts'
import { requestHold } from '../metering/request-hold.ts'
import { routeRequest } from '../models/route-request.ts'
import { formatRoubles } from '../money/amount.ts'
import { scanAgain } from '../receive-request.ts'
import type { OwnRequest } from './own-endpoint.ts'

/** What is priced when the caller does not say which path the body is meant for. */
const pathDefault = '/v1/chat/completions'

/**
 * What a request would set aside, and at which price, without sending it. The body is that of the request;
 * `for` names its path when it is not a chat completion: `?for=/v1/messages`.
 * @throws GatewayError whatever the request itself would be refused with
 */
export async function quote(own: OwnRequest, query: URLSearchParams): Promise<unknown> {
  const { config, exchange, bodies, ledger } = own
  const path = query.get('for') ?? pathDefault
  const route = findRoute('POST', path, exchange.request.rawHeaders, config.providers)
  const { operation } = route.match
  const isUnpriced = operation.unsupported !== undefined || operation.body === 'streamed'
  if (route.ownEndpoint !== undefined || isUnpriced) {
    throw new GatewayError('request_invalid', `${path} is nothing that can be priced.`, { param: 'for' })
  }
  const scanned = await scanAgain(bodies, exchange, route)
  const { request: read, target } = await routeRequest(own, exchange, route, scanned)
  const uploaded = await withUploaded(read.media, ledger, target.provider.name)
  const request = { ...read, media: await measureParts(uploaded, scanned.content) }
  const { price } = target
  return {
    operation: operation.name,
    provider: target.provider.name,
    model: target.modelName,
    hold: formatRoubles(requestHold(target, request, config.hold)),
    // What is fetched or kept at the provider, and what its tools add, shows only when it has answered.
    isEstimate:
      request.objects.length > 0 || request.media.length > 0 || scanned.content.head.includes('"tools"'),
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
