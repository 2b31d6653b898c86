import { createHash } from 'node:crypto'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Clock } from '../platform/clock.ts'
import { postgresPool } from '../stores/postgres/postgres-connection.ts'
import { MinuteCounter, type Counters } from './rate-limits.ts'
import { StoreError } from '../stores/shared/store-queries.ts'
import type { FailureCounts } from './failure-counts.ts'

/**
 * Counts in the store's database, for all of its nodes together. A minute ends by the nodes' clocks.
 * @param onLost called when a connection ends by itself; another is opened
 */
export function postgresCounters(url: string, clock: Clock, onLost: (error: Error) => void): Counters {
  // A pool of its own: long reports must not keep requests waiting.
  const pool = postgresPool(url, onLost)
  const counter = (keyPrefix: string): MinuteCounter => {
    const limiter = new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      keyPrefix,
      // Created with the store's own tables: the package's table has points that are too small for tokens.
      tableName: 'rate_counts',
      tableCreated: true,
      points: Number.MAX_SAFE_INTEGER,
      duration: 60,
    })
    return new MinuteCounter(limiter, clock)
  }
  return { requests: counter('requests'), tokens: counter('tokens'), close: () => pool.end() }
}

/**
 * Counts in the store's database, for all of its nodes together and by their clocks.
 * @param onLost called when a connection ends by itself; another is opened
 */
export function postgresFailureCounts(url: string, onLost: (error: Error) => void): FailureCounts {
  // A pool of its own: long reports must not keep sign-ins waiting.
  const pool = postgresPool(url, onLost)
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    keyPrefix: 'failures',
    tableName: 'rate_counts',
    tableCreated: true,
    points: Number.MAX_SAFE_INTEGER,
    duration: 60,
  })
  return {
    async add(kind, name, forgetMs) {
      const options = { customDuration: Math.ceil(forgetMs / 1000) }
      const { consumedPoints } = await counted(limiter.penalty(keyOf(kind, name), 1, options))
      return consumedPoints
    },
    async takeBack(kind, name) {
      await counted(limiter.reward(keyOf(kind, name), 1))
    },
    async forget(kind, name) {
      await counted(limiter.delete(keyOf(kind, name)))
    },
    async close() {
      if (!pool.ended) await pool.end()
    },
  }
}

/** Emails and addresses are stored only as long as they are needed. */
function keyOf(kind: string, name: string): string {
  return `${kind}:${createHash('sha256').update(name).digest('base64url')}`
}

async function counted<T>(counting: Promise<T>): Promise<T> {
  try {
    return await counting
  } catch (cause) {
    throw new StoreError('attempts cannot be counted', { cause })
  }
}
