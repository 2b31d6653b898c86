import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../platform/log.ts'

/** Counts failures by their kind and name, for `forgetMs` from the first one on. */
export interface FailureCounts {
  /** Adds one; returns the new count. */
  add(kind: string, name: string, forgetMs: number): Promise<number>
  /** Subtracts one. */
  takeBack(kind: string, name: string): Promise<void>
  forget(kind: string, name: string): Promise<void>
  /** May be called again. */
  close(): Promise<void>
}

interface Count {
  failures: number
  readonly endsAt: number
}

/** At most this many names are remembered: the oldest are forgotten first. */
const countsMax = 50_000

/** Counts in the memory of this process. */
export class MemoryFailureCounts implements FailureCounts {
  readonly #clock: Clock
  readonly #kinds = new Map<string, Map<string, Count>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async add(kind: string, name: string, forgetMs: number): Promise<number> {
    const counts = this.#of(kind)
    const now = this.#clock.now()
    const known = counts.get(name)
    const count = known !== undefined && now < known.endsAt ? known : { failures: 0, endsAt: now + forgetMs }
    count.failures += 1
    counts.delete(name)
    counts.set(name, count)
    if (counts.size > countsMax) {
      const [oldest] = counts.keys()
      if (oldest !== undefined) counts.delete(oldest)
    }
    return count.failures
  }

  async takeBack(kind: string, name: string): Promise<void> {
    const count = this.#of(kind).get(name)
    if (count !== undefined) count.failures -= 1
  }

  async forget(kind: string, name: string): Promise<void> {
    this.#of(kind).delete(name)
  }

  async close(): Promise<void> {
    this.#kinds.clear()
  }

  #of(kind: string): Map<string, Count> {
    const known = this.#kinds.get(kind)
    if (known !== undefined) return known
    const counts = new Map<string, Count>()
    this.#kinds.set(kind, counts)
    return counts
  }
}

/** Opens the counts of failures in the pages: in the database if several nodes may share it. */
export async function openFailureCounts(
  { store }: Pick<Config, 'store'>,
  clock: Clock,
  log: Pick<Log, 'warn'>,
): Promise<FailureCounts> {
  if (store.kind !== 'postgres') return new MemoryFailureCounts(clock)
  // Loaded only where it is used, like the store itself.
  const { postgresFailureCounts } = await import('./postgres-counts.ts')
  return postgresFailureCounts(store.url, error =>
    log.warn({ error }, 'a connection that counts attempts to sign in was lost'),
  )
}
