import type { Bodies } from '../bodies/bodies.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Target } from './target.ts'
import { addMeters } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { scanAgain } from '../routes/receive-request.ts'
import { withCredential } from './choose-provider.ts'
import type { Connection } from './connection.ts'
import { routeRequest, type RoutingContext } from './route-request.ts'

interface TurnContext extends RoutingContext {
  readonly bodies: Bodies
}

/**
 * Decides on one of the requests that come over a connection, as on any other, and within what the connection is:
 * it goes to one place, and what the provider keeps for it alone needs no owner.
 * @throws GatewayError as `routeRequest`
 */
export async function routeTurn(
  context: TurnContext,
  exchange: Exchange,
  connection: Connection,
): Promise<{ readonly request: RequestFacts; readonly target: Target }> {
  const route = exchange.get('route')
  const scanned = await scanAgain(context.bodies, exchange, route)
  const { facts, context: own } = connection.ownContext(scanned.facts)
  const { request, target } = await routeRequest(context, exchange, route, { ...scanned, facts })
  const read = own === undefined ? request : { ...request, context: addMeters(own, request.context) }
  return { request: read, target: connection.targetOf(target, facts) }
}

/** @throws GatewayError upgrade_required, upgrade_refused, on which Codex goes over to POST at once */
export function admitConnection({ config }: Pick<TurnContext, 'config'>, exchange: Exchange): void {
  const { providerName, dialect } = exchange.get('route')
  if (exchange.find('client') === undefined)
    throw new GatewayError('upgrade_required', 'This is a WebSocket: ask for an upgrade, or use POST.')
  const providers =
    providerName === undefined ? [...config.providers.values()] : [config.providers.get(providerName)]
  const isServed = providers.some(
    provider => provider?.takesResponsesSocket === true && withCredential(provider, dialect.name),
  )
  if (isServed) return
  throw new GatewayError(
    'upgrade_refused',
    'No provider here takes responses over a WebSocket. Use POST /v1/responses.',
  )
}
