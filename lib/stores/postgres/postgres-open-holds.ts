import type { HoldRequest } from '../../ledger/ledger.ts'
import type { PostgresLedger } from './postgres-ledger.ts'
import type { QueryValue, StoreQueries } from '../shared/store-queries.ts'

/** Holds are ended this many at a time, as one batch. */
const holdsAtOnce = 1000

const selectOpen = `SELECT exchange_id AS "exchangeId", sequence, account_id AS "accountId", key_id AS "keyId",
  amount_micros AS "likelyMicros",
  worst_micros AS "worstMicros" FROM holds WHERE state = 'open' AND owner <> 'jobs'`

/** Ends holds that nobody resolves any more, of whichever node. Those of jobs belong to all nodes. */
export class PostgresOpenHolds {
  readonly #queries: StoreQueries
  readonly #ledger: PostgresLedger

  constructor(queries: StoreQueries, ledger: PostgresLedger) {
    this.#queries = queries
    this.#ledger = ledger
  }

  /** Those of nodes that have closed. */
  endAbandoned(): Promise<readonly HoldRequest[]> {
    return this.#end('owner NOT IN (SELECT id FROM nodes)')
  }

  /** Those of nodes that have closed, or whose lease is over. */
  endOrphaned(): Promise<readonly HoldRequest[]> {
    return this.#end('owner NOT IN (SELECT id FROM nodes WHERE lease_until > now())')
  }

  /** Those that are older than any exchange can be. */
  async endExpired(now: number): Promise<number> {
    return (await this.#end('expires_at <= ?', [now])).length
  }

  async #end(condition: string, values: readonly QueryValue[] = []): Promise<readonly HoldRequest[]> {
    const ended: HoldRequest[] = []
    for (;;) {
      const holds = await this.#queries.all<HoldRequest>(
        `${selectOpen} AND ${condition} ORDER BY created_at, exchange_id, sequence LIMIT ${holdsAtOnce}`,
        values,
      )
      // `expired`, so that a node which was only thought to be gone can still charge what it owes.
      await this.#ledger.endHolds(holds, 'expired')
      ended.push(...holds)
      if (holds.length < holdsAtOnce) return ended
    }
  }
}
