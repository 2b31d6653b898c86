import type { Socket } from 'node:net'
import type { Clock } from '../platform/clock.ts'
import type { Config, ProviderConfig } from '../config/config.ts'
import { addressList, isFromProxy } from '../http/client-address.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { ProviderHealth, ProviderSwitch } from './provider-health.ts'
import { ProviderState, type ProviderReading, type ProviderStateOptions } from './provider-state.ts'
import type { CredentialState } from './credential-state.ts'
import type { UpstreamPools } from './upstream-pools.ts'

/** The dependencies of `Upstreams`. */
export interface UpstreamsContext {
  readonly pools: UpstreamPools
  readonly bus: PipelineBus
  readonly steadyClock: Clock
}

/** What one process has over the same pools: one `Upstreams` per config. */
interface OpenUpstreams {
  switches: readonly ProviderSwitch[]
  /** The latest config last. */
  readonly byConfig: Map<Config, Upstreams>
}

const open = new WeakMap<UpstreamPools, OpenUpstreams>()

function openOver(pools: UpstreamPools): OpenUpstreams {
  let known = open.get(pools)
  if (known === undefined) {
    known = { switches: [], byConfig: new Map() }
    open.set(pools, known)
  }
  return known
}

/** What is known about every provider under one config. A new config starts fresh, except for open alarms. */
export class Upstreams {
  readonly bus: PipelineBus
  /** Where clients reach the gateway; the Host header is not trusted. */
  readonly publicUrl: URL
  readonly #trustedProxies: ReturnType<typeof addressList>
  readonly #options: ProviderStateOptions
  readonly #providers: Config['providers']
  readonly #states = new Map<string, ProviderState>()
  #users = 0
  /** Aborted when its proxies are no longer checked. */
  readonly #checks = new AbortController()

  /** One instance shared by all plugins of a pipeline; each plugin closes it once. */
  static shared(config: Config, context: UpstreamsContext): Upstreams {
    const { byConfig } = openOver(context.pools)
    const upstreams = byConfig.get(config) ?? new Upstreams(config, context)
    // At the end, also when an earlier config returns.
    byConfig.delete(config)
    byConfig.set(config, upstreams)
    upstreams.#users += 1
    return upstreams
  }

  /** The state of all providers of a config except those that are off, to which nothing is sent. */
  static readings(config: Config, pools: UpstreamPools): readonly ProviderReading[] {
    const known = open.get(pools)?.byConfig.get(config)
    if (known === undefined) return []
    return [...config.providers.values()]
      .filter(provider => !provider.isOff)
      .map(provider => known.of(provider).reading(known.now()))
  }

  /** Applies the operators' switches, now and under every later config. */
  static apply(pools: UpstreamPools, switches: readonly ProviderSwitch[]): void {
    const known = openOver(pools)
    const before = known.switches
    const tried = switches.filter(
      ({ provider, credential, triedAt }) =>
        triedAt >
        (before.find(one => one.provider === provider && one.credential === credential)?.triedAt ?? 0),
    )
    known.switches = switches
    for (const upstreams of known.byConfig.values()) {
      for (const state of upstreams.#states.values()) state.apply(switches, tried)
    }
  }

  /** The health of every provider of the latest config. */
  static health(pools: UpstreamPools): readonly ProviderHealth[] {
    const upstreams = [...openOver(pools).byConfig.values()].at(-1)
    if (upstreams === undefined) return []
    return [...upstreams.#providers.values()].map(provider => upstreams.of(provider).health(upstreams.now()))
  }

  constructor(config: Config, { pools, bus, steadyClock }: UpstreamsContext) {
    this.bus = bus
    this.#providers = config.providers
    this.publicUrl = config.publicUrl
    this.#trustedProxies = addressList(config.trustedProxies)
    this.#options = {
      pools,
      clock: steadyClock,
      egress: config.egress,
      checks: this.#checks.signal,
      onEgressChange: (provider, { name }, isUp, reason) =>
        bus.emit('alarm', isUp ? 'egress_up' : 'egress_down', {
          provider: provider.name,
          egress: name,
          reason,
        }),
    }
    const before = [...openOver(pools).byConfig.values()].at(-1)
    if (before !== undefined) this.#inherit(before)
  }

  #inherit(earlier: Upstreams): void {
    for (const [name, state] of earlier.#states) {
      const provider = this.#providers.get(name)
      if (provider !== undefined) this.of(provider).inherit(state)
    }
  }

  /** The steady clock, in milliseconds. */
  now(): number {
    return this.#options.clock.now()
  }

  /** nginx before 1.29 mistakes the first informational response for the response, and drops what follows. */
  mayInform({ remoteAddress = '' }: Socket): boolean {
    return !isFromProxy(remoteAddress, this.#trustedProxies)
  }

  /** Suspends a credential for a while because its provider refuses it, and raises the alarm. */
  suspend(
    { name: provider }: ProviderConfig,
    credential: CredentialState,
    details: { readonly reason: string; readonly requestId: string | undefined },
  ): void {
    credential.suspend(this.now())
    const credentialName = credential.credential.name
    this.bus.emit('alarm', 'credential_suspended', { provider, credentialName, ...details })
  }

  /** Clears the alarm when a credential that was refused has worked again. */
  serve(provider: ProviderConfig, credential: CredentialState, request: object): void {
    if (!credential.serve(request)) return
    const details = { provider: provider.name, credentialName: credential.credential.name }
    this.bus.emit('alarm', 'credential_restored', details)
  }

  of(provider: ProviderConfig): ProviderState {
    let state = this.#states.get(provider.name)
    if (state === undefined) {
      state = new ProviderState(provider, this.#options)
      state.apply(openOver(this.#options.pools).switches, [])
      this.#states.set(provider.name, state)
    }
    return state
  }

  /** After a reload: checks no proxy any more. Requests that are still open find out by themselves. */
  drain(): void {
    if ([...openOver(this.#options.pools).byConfig.values()].at(-1) !== this) this.#checks.abort()
  }

  /** Ends when the last user has closed it; the pools close their connections themselves. */
  close(): void {
    this.#users -= 1
    if (this.#users > 0) return
    const { pools } = this.#options
    const { byConfig } = openOver(pools)
    for (const [config, upstreams] of byConfig) if (upstreams === this) byConfig.delete(config)
    // Passes the alarms that its last requests found to the latest config.
    const latest = [...byConfig.values()].at(-1)
    if (latest !== undefined) latest.#inherit(this)
    this.#checks.abort()
  }
}
