import type { Clock } from '../../platform/clock.ts'
import type { Reports } from '../../ledger/reports.ts'
import { noRisk } from '../../ledger/risk.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { cannotConnect, postgresPool } from './postgres-connection.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { checkPostgresVersion } from './postgres-migrate.ts'
import { postgresQueries } from './postgres-queries.ts'
import { StoreError } from '../shared/store-error.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import { StoreReports } from '../shared/store-reports.ts'

/** What only a database of several nodes can have wrong. */
const invariants: readonly (readonly [sentence: string, query: string])[] = [
  [
    'what an account holds is not the sum of its open holds',
    `SELECT id AS name FROM accounts WHERE held_micros <>
       coalesce((SELECT sum(amount_micros) FROM holds WHERE state = 'open' AND account_id = accounts.id), 0)`,
  ],
  [
    'what the open holds of an account may cost at worst is not the sum of them',
    `SELECT id AS name FROM accounts WHERE worst_micros <>
       coalesce((SELECT sum(worst_micros) FROM holds WHERE state = 'open' AND account_id = accounts.id), 0)`,
  ],
  [
    'rows refer to an account that does not exist',
    `SELECT account_id AS name FROM charges WHERE account_id NOT IN (SELECT id FROM accounts)
     UNION SELECT account_id FROM entries WHERE account_id NOT IN (SELECT id FROM accounts)
     UNION SELECT account_id FROM holds WHERE account_id NOT IN (SELECT id FROM accounts)`,
  ],
]

async function verifyNodes(queries: StoreQueries): Promise<readonly string[]> {
  const breaches: string[] = []
  for (const [sentence, query] of invariants) {
    const rows = await queries.all<{ readonly name: string }>(`${query} LIMIT 20`)
    breaches.push(...rows.map(({ name }) => `${sentence}: ${name}`))
  }
  return breaches
}

/** Reads a database through a pool; closing it leaves the pool open. */
export function postgresReports(pool: PostgresPool, clock: Clock, riskRule: () => RiskRule): Reports {
  return new StoreReports(postgresQueries(pool), { clock, riskRule, verifyMore: verifyNodes })
}

/**
 * Connects to a PostgreSQL store for reading.
 * @throws StoreError when it cannot be reached, or is of another release
 */
export async function openPostgresQueries(url: string): Promise<StoreQueries> {
  // A connection that is lost while idle is made anew when it is needed.
  const pool = postgresPool(url, () => undefined)
  try {
    await checkPostgresVersion(pool)
  } catch (error) {
    await pool.end()
    throw error instanceof StoreError ? error : cannotConnect(url, error)
  }
  return { ...postgresQueries(pool), close: () => pool.end() }
}

/**
 * Opens a PostgreSQL store for reading.
 * @throws StoreError when it cannot be reached, or is of another release
 */
export async function openPostgresReports(
  url: string,
  clock: Clock,
  riskRule = () => noRisk,
): Promise<Reports> {
  return new StoreReports(await openPostgresQueries(url), { clock, riskRule, verifyMore: verifyNodes })
}
