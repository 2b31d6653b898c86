import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Clock } from '../platform/clock.ts'
import { postgresPool } from '../stores/postgres/postgres-connection.ts'
import type { Counters } from './counters.ts'
import { MinuteCounter } from './minute-counter.ts'

/**
 * Counts in the store's database, for all of its nodes together. A minute ends by the nodes' clocks.
 * @param onLost told when a connection ends by itself; another is opened
 */
export function postgresCounters(url: string, clock: Clock, onLost: (error: Error) => void): Counters {
  // A pool of its own: reports that take long must not keep requests waiting.
  const pool = postgresPool(url, onLost)
  const counter = (keyPrefix: string): MinuteCounter => {
    const limiter = new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      keyPrefix,
      // Made with the store's own tables: the package's has points that are too small for tokens.
      tableName: 'rate_counts',
      tableCreated: true,
      points: Number.MAX_SAFE_INTEGER,
      duration: 60,
    })
    return new MinuteCounter(limiter, clock)
  }
  return { requests: counter('requests'), tokens: counter('tokens'), close: () => pool.end() }
}
