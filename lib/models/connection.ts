import type { RequestFacts } from '../dialects/dialect.ts'
import { providerLabel } from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { responseNotFound } from './object-owner.ts'
import { type Target, withCredential } from './choose-provider.ts'
import { addMeters, readAgain, type Meters } from '../money/usage.ts'
import type { Bodies } from '../bodies/bodies.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { scanAgain } from '../routes/receive-request.ts'
import { routeRequest, type RoutingContext } from './route-request.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The connection that carries this request as one of many. */
    connection: Connection
  }
}

/** The route of a connection, fixed once its first request is admitted. */
type Place = Pick<Target, 'provider' | 'credential' | 'baseUrl'>

/** No client continues from so many responses; each takes up some 100 bytes. */
const responsesMax = 1000

/**
 * The state of a connection whose messages are requests: its route, and the responses that the provider keeps for as
 * long as it is open, whether they are stored or not.
 */
export class Connection {
  /** The id of the exchange that opened it. */
  readonly id: string
  place: Place | undefined
  /** A request that continues from a response reads its context again. */
  readonly #contexts = new Map<string, Meters>()

  constructor(id: string) {
    this.id = id
  }

  /** @param used the usage of the response */
  keep(responseId: string, used: Meters): void {
    this.#contexts.set(responseId, readAgain(used))
    if (this.#contexts.size <= responsesMax) return
    for (const oldest of this.#contexts.keys()) {
      this.#contexts.delete(oldest)
      return
    }
  }

  /** The facts of a request without the connection's own responses that it names, and the context that these add. */
  ownContext(facts: RequestFacts): { readonly facts: RequestFacts; readonly context: Meters | undefined } {
    let context: Meters | undefined
    const objects = facts.objects.filter(({ kind, id }) => {
      const known = kind === 'response' ? this.#contexts.get(id) : undefined
      if (known !== undefined) context = addMeters(known, context)
      return known === undefined
    })
    return context === undefined ? { facts, context } : { facts: { ...facts, objects }, context }
  }

  /**
   * A request's target on the connection's route, or on any possible route: all providers that serve responses over a
   * WebSocket.
   * @throws GatewayError request_invalid, previous_response_not_found
   */
  targetOf(target: Target, { objects }: RequestFacts): Target {
    if (this.place === undefined) return withSocket(target) ?? refuse(noSocket(target))
    const { provider, credential, baseUrl } = this.place
    const here = placesOf(target).find(place => place.provider.name === provider.name)
    if (here === undefined) return refuse(atAnother(target, provider))
    if (here.isPinned === true && here.credential.name !== credential.name) {
      const response = objects.find(({ kind }) => kind === 'response')
      return refuse(response === undefined ? madeElsewhere() : responseNotFound(response.id))
    }
    return { ...here, provider, credential, baseUrl, next: undefined }
  }
}

function placesOf(target: Target): readonly Target[] {
  const next = target.next?.()
  return next === undefined ? [target] : [target, ...placesOf(next)]
}

/** The first target that accepts WebSockets; each target knows the next one. */
function withSocket(target: Target): Target | undefined {
  for (let place: Target | undefined = target; place !== undefined; place = place.next?.()) {
    const { next } = place
    if (!place.provider.takesResponsesSocket) continue
    return { ...place, next: next && (() => afterwards(next)) }
  }
  return undefined
}

function afterwards(next: NonNullable<Target['next']>): Target | undefined {
  const target = next()
  return target && withSocket(target)
}

function noSocket({ modelName, provider }: Target): GatewayError {
  return new GatewayError(
    'request_invalid',
    `"${modelName}" is not served over a WebSocket, since ${providerLabel(provider)} has none: use POST /v1/responses for it.`,
    { param: 'model' },
  )
}

function atAnother({ modelName, provider }: Target, here: Target['provider']): GatewayError {
  const where =
    provider.isPublic && here.isPublic
      ? `is at ${provider.name}, and this connection goes to ${here.name}`
      : 'is at another provider than this connection goes to'
  return new GatewayError('request_invalid', `"${modelName}" ${where}: open another connection for it.`, {
    param: 'model',
  })
}

function madeElsewhere(): GatewayError {
  return new GatewayError(
    'request_invalid',
    'The request names objects that were made with another credential than that of this connection: open another connection for it.',
  )
}

function refuse(error: GatewayError): never {
  throw error
}

interface TurnContext extends RoutingContext {
  readonly bodies: Bodies
}

/**
 * Routes one of the requests on a connection, like any other but within the connection's limits: it has one route, and
 * responses that the provider keeps for it alone need no owner.
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

/** @throws GatewayError upgrade_required, upgrade_refused, after which Codex switches to POST at once */
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
