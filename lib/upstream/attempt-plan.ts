import { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/choose-provider.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { CredentialState } from './credential-state.ts'
import type { EgressRoute } from './egress-route.ts'
import { isServing, takesClients, type ProviderState } from './provider-state.ts'
import type { Upstreams } from './upstreams.ts'

/** Where a request may be sent: a provider, and one of its credentials that can carry the request. */
export interface Destination {
  readonly target: Target
  readonly provider: ProviderState
  readonly credential: CredentialState
}

/** How an exchange was sent, for the log. */
export interface UpstreamFacts {
  readonly attemptCount: number
  readonly egressName: string | undefined
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    upstream: UpstreamFacts
  }
}

/** The stops at which one request is tried, in order, none of them twice. */
export class AttemptPlan {
  readonly #exchange: Exchange | undefined
  readonly #upstreams: Upstreams
  #triedCredentials: Set<CredentialState> | undefined
  #triedRoutes: Set<EgressRoute> | undefined

  constructor(exchange: Exchange | undefined, upstreams: Upstreams) {
    this.#exchange = exchange
    this.#upstreams = upstreams
  }

  /** After a refusal: another credential of the provider, else the next provider. */
  afterRefusal({ credential, target }: Destination): Destination | GatewayError {
    this.#triedCredentials ??= new Set()
    this.#triedCredentials.add(credential)
    return this.from(target)
  }

  /** After no route reached the provider: the next provider, since another credential would not reach it either. */
  afterNoConnection({ target }: Destination): Destination | undefined {
    const next = target.next?.()
    if (next === undefined) return undefined
    const stop = this.from(next)
    return stop instanceof GatewayError ? undefined : stop
  }

  /** The egress route to a stop: weighted round robin, failing routes last. */
  route({ provider, target }: Destination): EgressRoute {
    const routes = provider.routesTo(target.baseUrl)
    const now = this.#upstreams.now()
    const route = chooseEgress(routes, this.#triedRoutes, now) ?? routes[0]
    if (route === undefined) throw new Error(`${target.provider.name} has no egress route.`)
    route.take(now)
    return route
  }

  /** Whether there is an untried route whose score (see EgressRoute) is at most this. */
  hasOtherRoute({ provider, target }: Destination, tried: EgressRoute, scoreMax: number): boolean {
    this.#triedRoutes ??= new Set()
    this.#triedRoutes.add(tried)
    const now = this.#upstreams.now()
    return provider
      .routesTo(target.baseUrl)
      .some(route => this.#triedRoutes?.has(route) !== true && route.score(now) <= scoreMax)
  }

  /** The first usable stop, starting at a target, or the error that says why there is none. */
  from(target: Target): Destination | GatewayError {
    let problem: GatewayError | undefined
    for (let next: Target | undefined = target; next !== undefined; next = next.next?.()) {
      const provider = this.#upstreams.of(next.provider)
      const credential = this.#credential(provider, next)
      if (credential !== undefined) {
        const isSame = next.credential === credential.credential
        const own = isSame ? next : { ...next, credential: credential.credential }
        return { target: own, provider, credential }
      }
      problem ??= provider.problem(next.isPinned === true ? next.credential.name : undefined)
    }
    return problem as GatewayError
  }

  #credential(provider: ProviderState, target: Target): CredentialState | undefined {
    const now = this.#upstreams.now()
    if (this.#exchange === undefined || target.isPinned === true) {
      const pinned = provider.named(target.credential.name)
      if (pinned === undefined || this.#triedCredentials?.has(pinned) === true) return undefined
      const isTaken = this.#exchange === undefined ? isServing(pinned, now) : takesClients(pinned, now)
      return isTaken && !pinned.admission.isFull ? pinned : undefined
    }
    return provider.choose(this.#exchange, target.upstreamModelName, this.#triedCredentials, now)
  }
}

/**
 * The next egress route: weighted round robin among working routes that were not tried, else the one with the best
 * score. Only routes that the provider's config names are used.
 */
export function chooseEgress(
  routes: readonly EgressRoute[],
  tried: ReadonlySet<EgressRoute> | undefined,
  now: number,
): EgressRoute | undefined {
  const [only] = routes
  if (routes.length === 1) return only !== undefined && tried?.has(only) === true ? undefined : only
  let least = 3
  for (const route of routes) {
    if (tried?.has(route) !== true) least = Math.min(least, route.score(now))
  }
  let best: EgressRoute | undefined
  let total = 0
  for (const route of routes) {
    if (tried?.has(route) === true || route.score(now) !== least) continue
    route.credit += route.weight
    total += route.weight
    if (best === undefined || route.credit > best.credit) best = route
  }
  if (best !== undefined) best.credit -= total
  return best
}
