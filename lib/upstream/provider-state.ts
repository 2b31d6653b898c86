import type { Pool } from 'undici'
import type { Clock } from '../platform/clock.ts'
import {
  providerLabel,
  providerLabelFirst,
  keylessCredential,
  type Config,
  type ProviderConfig,
} from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { CredentialState, type CredentialReading } from './credential-state.ts'
import { EgressRoute, type EgressRouteOptions } from './egress-route.ts'
import type { ProviderHealth, ProviderSwitch } from './provider-health.ts'
import { rendezvousScore, hashText } from './rendezvous.ts'
import type { UpstreamPools } from './upstream-pools.ts'

/** The current state of a provider. Credentials appear by name, never by secret. */
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
  readonly checks: EgressRouteOptions['checks']
  readonly onEgressChange: (
    provider: ProviderConfig,
    ...change: Parameters<EgressRouteOptions['onChange']>
  ) => void
}

/** Headers in which coding tools identify their sessions: Claude Code, Codex. */
const sessionHeaders = [
  'x-claude-code-session-id',
  'session_id',
  'session-id',
  'conversation_id',
  'x-session-id',
] as const

/**
 * The members with which the part of a body starts that stays the same while a conversation grows. Providers cache
 * prompts of a thousand tokens and more, so the first thousand bytes of that part are enough to recognize it.
 */
const beginnings = `"system" "systemInstruction" "system_instruction"
    "instructions" "messages" "contents" "input"`.split(/\s+/)
const prefixBytes = 1024
const keyTextMax = 512

/**
 * Hashes what should stay with one credential, since a provider's prompt cache belongs to an account there: the same
 * `prompt_cache_key`, session, `metadata.user_id` or start of a conversation. It is only a preference, so the body is
 * searched and not parsed.
 */
function affinityHash(exchange: Exchange): number {
  const account = exchange.find('key')?.accountId ?? ''
  // For a body in a file, only its first bytes: what distinguishes conversations is nearly always in them.
  const body = exchange.find('body')?.head
  const { headers } = exchange.request
  const cacheKey = body === undefined ? undefined : stringMember(body, '"prompt_cache_key"')
  if (cacheKey !== undefined) return hashText(`${account} cache ${cacheKey}`)
  for (const name of sessionHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '')
      return hashText(`${account} session ${value.slice(0, keyTextMax)}`)
  }
  if (body === undefined || body.length === 0) return hashText(account)
  const metadata = body.indexOf('"metadata"')
  const userId = metadata === -1 ? undefined : stringMember(body.subarray(metadata), '"user_id"')
  return hashText(userId === undefined ? `${account} prefix ${prefixOf(body)}` : `${account} user ${userId}`)
}

function prefixOf(body: Buffer): string {
  for (const beginning of beginnings) {
    const start = body.indexOf(beginning)
    if (start !== -1) return body.toString('latin1', start, start + prefixBytes)
  }
  return body.toString('latin1', 0, prefixBytes)
}

/** The raw text of the first member with this name whose value is a string. */
function stringMember(body: Buffer, quotedName: string): string | undefined {
  const start = body.indexOf(quotedName)
  if (start === -1) return undefined
  const after = start + quotedName.length
  const text = body.toString('latin1', after, after + keyTextMax)
  return /^\s*:\s*"((?:[^"\\]|\\.)+)/.exec(text)?.[1]
}

/** What is known about a provider while the process lives: its credentials and its egress routes. */
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

  /** The state of a credential by its name. */
  named(name: string): CredentialState | undefined {
    return this.#credentials.find(({ credential }) => credential.name === name)
  }

  /** The credential for a request: its preferred one while that is healthy, else the next best. */
  choose(
    exchange: Exchange,
    model: string,
    tried: ReadonlySet<CredentialState> | undefined,
    now: number,
  ): CredentialState | undefined {
    const [only] = this.#credentials
    if (this.#credentials.length === 1 && only !== undefined)
      return tried?.has(only) !== true && takesClients(only, now) && !only.admission.isFull ? only : undefined
    let best: CredentialState | undefined
    let bestScore = -1
    let bestIsFree = false
    const affinity = affinityHash(exchange)
    for (const state of this.#credentials) {
      if (tried?.has(state) === true || !takesClients(state, now) || state.admission.isFull) continue
      // A credential that is cooling down or busy is better than none.
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

  /** Why no credential, or not the named one, can carry a request. */
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
      `${providerLabelFirst(this.provider)} could not be reached a moment ago and is paused for now; nothing was sent.`,
    )
  }

  /** The current state; credentials and routes that were not used yet are included. */
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

  /** Applies the operators' switches. @param tried credentials whose pauses end, and the routes' with them */
  apply(switches: readonly ProviderSwitch[], tried: readonly ProviderSwitch[]): void {
    const { name: ownName } = this.provider
    const of = (all: readonly ProviderSwitch[], name: string | undefined): ProviderSwitch | undefined =>
      all.find(({ provider, credential }) => provider === ownName && credential === name)
    for (const state of this.#credentials) {
      const { name, formerName } = state.credential
      const own = of(switches, name) ?? of(switches, formerName)
      state.isPaused = [of(switches, ''), own].some(one => one?.isPaused)
      if (of(tried, '') !== undefined || of(tried, name) !== undefined) state.tryNow()
    }
    if (!tried.some(one => one.provider === ownName)) return
    for (const routes of this.#routes.values()) for (const route of routes) route.tryNow()
  }

  /** The current health, by credential and route. */
  health(now: number): ProviderHealth {
    const { name, isOff } = this.provider
    const routes = [...this.#routes].flatMap(([origin, all]) =>
      all.map(route => ({ origin, ...route.health(now) })),
    )
    return { name, isOff, credentials: this.#credentials.map(state => state.health(now)), routes }
  }

  /** The egress routes to one of its addresses. */
  routesTo({ origin, hostname, port, protocol }: URL): readonly EgressRoute[] {
    let routes = this.#routes.get(origin)
    if (routes === undefined) {
      const { clock, egress, checks, onEgressChange, pools } = this.#options
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
          checks,
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

  /** Carries over open alarms from an earlier config, so that the next success ends them; the rest starts fresh. */
  inherit(earlier: ProviderState): void {
    for (const { credential, isAlarmed } of earlier.#credentials) {
      const state = this.named(credential.name)
      if (state !== undefined && isAlarmed) state.isAlarmed = true
    }
    const origins = Object.values(this.provider.dialects).map(({ baseUrl }) => baseUrl.origin)
    for (const [origin, routes] of earlier.#routes) {
      if (!origins.includes(origin) || routes.every(route => !route.isAlarmed)) continue
      const own = this.routesTo(new URL(origin))
      for (const route of routes) own.find(({ name }) => name === route.name)?.inherit(route)
    }
  }
}

export function isServing(state: CredentialState, now: number): boolean {
  return !state.isSuspended(now) && state.breaker.allows(now)
}

/** Whether a client's request may use it; the gateway's own requests ignore a pause. */
export function takesClients(state: CredentialState, now: number): boolean {
  return !state.isPaused && isServing(state, now)
}

function paused(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'upstream_unreachable',
    `${providerLabelFirst(provider)} is paused by the gateway's operator; nothing was sent. Try again later, or use another model.`,
  )
}

export function exhausted(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'credentials_exhausted',
    `The gateway has no working credential for ${providerLabel(provider)} now. Your own key is fine; its operator has been notified.`,
  )
}

export function overloaded(provider: ProviderConfig): GatewayError {
  return new GatewayError(
    'overloaded',
    `Too many requests are waiting for ${providerLabel(provider)}. Try again soon; nothing was sent.`,
    { retryAfterSeconds: 1 },
  )
}
