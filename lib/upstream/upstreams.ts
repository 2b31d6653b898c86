import { steadyClock } from '../clock.ts'
import type { Config, ProviderConfig } from '../config/config.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { ProviderState, type ProviderStateOptions } from './provider-state.ts'
import type { UpstreamPools } from './upstream-pools.ts'

/** What is known of every provider under one config. Another config begins anew. */
export class Upstreams {
  readonly bus: PipelineBus
  /** Where clients reach the gateway; Host is not trusted. */
  readonly publicUrl: URL
  readonly #options: ProviderStateOptions
  readonly #states = new Map<string, ProviderState>()

  constructor(config: Config, { pools, bus }: { readonly pools: UpstreamPools; readonly bus: PipelineBus }) {
    this.bus = bus
    this.publicUrl = config.publicUrl
    this.#options = {
      pools,
      clock: steadyClock,
      egress: config.egress,
      onEgressChange: (provider, { name }, isUp, reason) =>
        bus.emit('alarm', isUp ? 'egress_up' : 'egress_down', {
          provider: provider.name,
          egress: name,
          reason,
        }),
    }
  }

  /** Milliseconds that run evenly. */
  now(): number {
    return this.#options.clock.now()
  }

  of(provider: ProviderConfig): ProviderState {
    let state = this.#states.get(provider.name)
    if (state === undefined) {
      state = new ProviderState(provider, this.#options)
      this.#states.set(provider.name, state)
    }
    return state
  }

  /** Ends the checks; connections are the pools' own. */
  close(): void {
    for (const state of this.#states.values()) state.close()
  }
}
