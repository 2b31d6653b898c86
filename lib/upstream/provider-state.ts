import type { Pool } from 'undici'
import type { Clock } from '../platform/clock.ts'
import type { Config, ProviderConfig } from '../config/config.ts'
import { toldProvider, toldProviderFirst } from '../config/shown-provider.ts'
import { keylessCredential } from '../config/keyless-credential.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { affinityHash } from './affinity.ts'
import { CredentialState, type CredentialReading } from './credential-state.ts'
import { EgressRoute, type EgressRouteOptions } from './egress-route.ts'
import type { ProviderHealth, ProviderSwitch } from './provider-health.ts'
import { rendezvousScore } from './rendezvous.ts'
import type { UpstreamPools } from './upstream-pools.ts'

/** What is known of a provider now. Its credentials go by their names, never by their secrets. */
export interface ProviderReading {
  readonly name: string
  /** A credential and an egress are ready. */
  readonly isUp: boolean
  readonly credentials: readonly { readonly name: string; readonly state: CredentialReading }[]
  readonly egress: readonly { readonly name: string; readonly isUp: boolean }[]
}

export interface ProviderStateOptions {
  readonly pools: UpstreamPools
  readonly clock: Clock
  readonly egress: Config['egress']
  readonly onEgressChange: (
    provider: ProviderConfig,
    ...change: Parameters<EgressRouteOptions['onChange']>
  ) => void
}

/** What is known of a provider while the process lives: its keys, and the ways to it. */
export class ProviderState {
  readonly provider: ProviderConfig
  readonly #options: ProviderStateOptions
  readonly #credentials: readonly CredentialState[]
  readonly #routes = new Map<string, readonly EgressRoute[]>()

  constructor(provider: ProviderConfig, options: ProviderStateOptions) {
    this.provider = provider
    this.#options = options
    const credentials = provider.credentials.length > 0 ? provider.credentials : [keylessCredential(provider)]
    this.#credentials = credentials.map(credential => new CredentialState(credential, provider.limits))
  }

  /** The state of the one credential that may be used. */
  named(name: string): CredentialState | undefined {
    return this.#credentials.find(({ credential }) => credential.name === name)
  }

  /** The credential for a request: its own while that is healthy, else the next best one. */
  choose(
    exchange: Exchange,
    model: string,
    tried: ReadonlySet<CredentialState> | undefined,
    now: number,
  ): CredentialState | undefined {
    const [only] = this.#credentials
    if (this.#credentials.length === 1 && only !== undefined) {
      return tried?.has(only) !== true && takesClients(only, now) && !only.admission.isFull ? only : undefined
    }
    let best: CredentialState | undefined
    let bestScore = -1
    let bestIsFree = false
    const affinity = affinityHash(exchange)
    for (const state of this.#credentials) {
      if (tried?.has(state) === true || !takesClients(state, now) || state.admission.isFull) continue
      // One that is cooling or busy is better than none.
      const isFree = !state.isCooling(model, now) && !state.admission.isBusy
      const score = rendezvousScore(affinity, state.credential.name, state.credential.weight ?? 1)
      if (bestIsFree && !isFree) continue
      if (isFree === bestIsFree && score <= bestScore) continue
      best = state
      bestScore = score
      bestIsFree = isFree
    }
    return best
  }

  /** Whether another credential could serve the model now. */
  hasOther(than: CredentialState, model: string, now: number): boolean {
    return this.#credentials.some(
      state => state !== than && takesClients(state, now) && !state.isCooling(model, now),
    )
  }

  /** Why no credential, or not this one, can take a request. */
  problem(credentialName: string | undefined): GatewayError {
    const now = this.#options.clock.now()
    const wanted = this.#credentials.filter(
      ({ credential }) => credentialName === undefined || credential.name === credentialName,
    )
    if (wanted.every(state => state.isPaused)) return paused(this.provider)
    if (wanted.every(state => state.isPaused || state.isSuspended(now))) return exhausted(this.provider)
    if (wanted.some(state => isServing(state, now) && state.admission.isFull))
      return overloaded(this.provider)
    return new GatewayError(
      'upstream_unreachable',
      `${toldProviderFirst(this.provider)} could not be reached a moment ago and is left alone for now; nothing was sent.`,
    )
  }

  /** What is known of it now; what was not used yet counts as well. */
  reading(now: number): ProviderReading {
    const { name, egress: ways } = this.provider
    const credentials = this.#credentials.map(({ credential, state }) => ({ name: credential.name, state }))
    const routes = [...this.#routes.values()].flat()
    const egress = ways.map(way => ({
      name: way.name,
      isUp: routes.every(route => route.name !== way.name || route.isUp(now)),
    }))
    const isUp = credentials.some(({ state }) => state === 'ready') && egress.some(way => way.isUp)
    return { name, isUp, credentials, egress }
  }

  /** Acts by what operators have switched. @param tried credentials whose rests end, and the routes' with them */
  apply(switches: readonly ProviderSwitch[], tried: readonly ProviderSwitch[]): void {
    const isOf =
      (name: string) =>
      ({ provider, credential }: ProviderSwitch): boolean =>
        provider === this.provider.name && (credential === '' || credential === name)
    for (const state of this.#credentials) {
      const { name } = state.credential
      state.isPaused = switches.some(one => one.isPaused && isOf(name)(one))
      if (tried.some(isOf(name))) state.tryNow()
    }
    if (!tried.some(one => one.provider === this.provider.name)) return
    for (const routes of this.#routes.values()) for (const route of routes) route.tryNow()
  }

  /** What is known of it now. */
  health(now: number): ProviderHealth {
    const { name, isOff } = this.provider
    const routes = [...this.#routes].flatMap(([origin, all]) =>
      all.map(route => ({ origin, ...route.health(now) })),
    )
    return { name, isOff, credentials: this.#credentials.map(state => state.health(now)), routes }
  }

  /** The ways to one of its addresses. */
  routesTo({ origin, hostname, port, protocol }: URL): readonly EgressRoute[] {
    let routes = this.#routes.get(origin)
    if (routes === undefined) {
      const { clock, egress, onEgressChange, pools } = this.#options
      const end = {
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port) || (protocol === 'https:' ? 443 : 80),
      }
      routes = this.provider.egress.map(({ name, weight }) => {
        const url = egress.get(name)?.url
        return new EgressRoute({
          name,
          weight,
          proxy: url === undefined ? undefined : { name, url, lookup: pools.lookup },
          lookup: pools.lookup,
          end,
          connectMs: this.provider.timeouts.connectMs,
          clock,
          onChange: (...change) => onEgressChange(this.provider, ...change),
        })
      })
      this.#routes.set(origin, routes)
    }
    return routes
  }

  pool(state: CredentialState, route: EgressRoute, origin: string): Pool {
    let pool = state.pools.get(route)
    if (pool === undefined) {
      pool = this.#options.pools.get(this.provider, origin, state.credential, route.proxy)
      state.pools.set(route, pool)
      route.watch()
    }
    return pool
  }

  close(): void {
    for (const routes of this.#routes.values()) for (const route of routes) route.close()
  }
}

export function isServing(state: CredentialState, now: number): boolean {
  return !state.isSuspended(now) && state.breaker.allows(now)
}

/** Whether a client's request may go there; what the gateway asks for itself is not paused. */
export function takesClients(state: CredentialState, now: number): boolean {
  return !state.isPaused && isServing(state, now)
}

function paused(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'upstream_unreachable',
    `${toldProviderFirst(provider)} is paused by the gateway's operator; nothing was sent. Try again later, or use another model.`,
  )
}

export function exhausted(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'credentials_exhausted',
    `The gateway has no working credential for ${toldProvider(provider)} now. Your own key is fine; its operator has been told.`,
  )
}

export function overloaded(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'overloaded',
    `As many requests wait for ${toldProvider(provider)} as may. Try again soon; nothing was sent.`,
    { retryAfterSeconds: 1 },
  )
}
