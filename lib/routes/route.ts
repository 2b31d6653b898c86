import type { Dialect, RouteMatch, Operation } from '../dialects/dialect.ts'
import { openai } from '../dialects/openai/openai.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { shownPath } from './refuse-path.ts'

/** One of the gateway's own endpoints below `/gateway/v1/`, from its path. */
export interface OwnEndpoint {
  readonly name: 'balance' | 'key' | 'charges' | 'charge' | 'quote'
  /** The charge's request id, for `charges/{requestId}`. */
  readonly id?: string
  readonly query: URLSearchParams
}

/** The prefix of the gateway's own endpoints. */
export const ownPrefix = '/gateway/v1/'

/** Own endpoints are free and never forwarded. */
const operation: Operation = {
  name: 'gateway',
  body: 'opaque',
  modelIn: 'none',
  isFree: true,
  mainMeter: 'requests',
}

/**
 * Matches a path below `/gateway/v1/`. Errors are in the universal format.
 * @throws GatewayError route_not_found, method_not_allowed
 */
export function matchOwn(method: string, target: string, queryKeys: readonly string[]): Route {
  const [path = '', query = ''] = target.slice(ownPrefix.length).split('?', 2)
  const ownEndpoint: OwnEndpoint = { ...endpointAt(path), query: new URLSearchParams(query) }
  const allowed = ownEndpoint.name === 'quote' ? 'POST' : 'GET'
  if (method !== allowed) {
    throw new GatewayError('method_not_allowed', `${ownPrefix}${path} takes ${allowed}.`, {
      details: { allow: allowed },
    })
  }
  return {
    dialect: openai,
    match: { operation, upstreamPath: target },
    prefix: '/gateway/v1',
    providerName: undefined,
    queryKeys,
    ownEndpoint,
  }
}

function endpointAt(path: string): Pick<OwnEndpoint, 'name' | 'id'> {
  if (path === 'balance' || path === 'key' || path === 'charges' || path === 'quote') return { name: path }
  const id = /^charges\/([0-9a-z]{26})$/.exec(path)?.[1]
  if (id !== undefined) return { name: 'charge', id }
  throw new GatewayError(
    'route_not_found',
    `There is nothing at ${shownPath(ownPrefix + path)}. There are balance, key, charges, charges/{requestId} and quote.`,
  )
}

/** The destination of a request, from its method, path and headers alone; set before the first gate. */
export interface Route {
  readonly dialect: Dialect
  readonly match: RouteMatch
  /** The prefix of the client's path that replaces the provider's base URL: `/v1`, `/groq/v1`. */
  readonly prefix: string
  /** The provider in the path (`/groq/v1/...`); the request then goes to no other. */
  readonly providerName: string | undefined
  /** Keys in the query, removed from `match.upstreamPath`. */
  readonly queryKeys: readonly string[]
  /** Set when the gateway itself responds, below `/gateway/v1/`. */
  readonly ownEndpoint?: OwnEndpoint
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** Set before the first gate. */
    route: Route
  }
}
