import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { memoryCounters, RateLimits, type Counters, type RateLimiting } from './rate-limits.ts'

interface GatewayParts {
  readonly config: Pick<Config, 'store'>
  readonly bus: PipelineBus
  readonly clock: Clock
}

interface Shared {
  readonly limits: RateLimiting
  /** Called when no caller uses them any more. */
  close(): Promise<void>
  users: number
}

/** One count for a gateway, even when its config is reloaded: open requests stay open then. */
const byGateway = new WeakMap<PipelineBus, Shared>()

/**
 * The gateway's counts, in the database when the store is one that nodes share. Each call has its own
 * `returnRateLimits`.
 */
export async function borrowRateLimits(parts: GatewayParts): Promise<RateLimiting> {
  const known = byGateway.get(parts.bus)
  if (known !== undefined) {
    known.users += 1
    return known.limits
  }
  const counters = await openCounters(parts)
  const limits = new RateLimits(parts.clock, counters)
  const close = async (): Promise<void> => {
    await limits.ended()
    await counters.close?.()
  }
  byGateway.set(parts.bus, { limits, close, users: 1 })
  return limits
}

/** The last one closes the counts, when they hold what requests that have ended give back. */
export async function returnRateLimits({ bus }: Pick<GatewayParts, 'bus'>): Promise<void> {
  const shared = byGateway.get(bus)
  if (shared === undefined) return
  shared.users -= 1
  if (shared.users > 0) return
  byGateway.delete(bus)
  await shared.close()
}

/** Lets a gateway's requests be counted elsewhere, from its start on. */
export function lendRateLimits(bus: PipelineBus, limits: RateLimiting): void {
  byGateway.set(bus, { limits, close: () => Promise.resolve(), users: 1 })
}

/** The counts for reading only; undefined when nothing is counted. */
export function findRateLimits(bus: PipelineBus): RateLimiting | undefined {
  return byGateway.get(bus)?.limits
}

async function openCounters({ config, bus, clock }: GatewayParts): Promise<Counters> {
  if (config.store.kind !== 'postgres') return memoryCounters(clock)
  // Loaded only where it is used, like the store itself.
  const { postgresCounters } = await import('./postgres-counts.ts')
  return postgresCounters(config.store.url, clock, error => bus.emit('alarm', 'rate_counts_lost', { error }))
}
