import { resolve } from 'node:path'
import type { Clock } from '../../platform/clock.ts'
import type { Reports } from '../../ledger/reports.ts'
import { noRisk } from '../../ledger/risk.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { SqliteQueries } from './sqlite-queries.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import { StoreReports } from '../shared/store-reports.ts'

/** What a file can have wrong below its rows. */
async function verifyFile(queries: StoreQueries): Promise<readonly string[]> {
  const findings = await queries.all<{ readonly integrity_check: string }>('PRAGMA integrity_check')
  const breaches = findings
    .filter(finding => finding.integrity_check !== 'ok')
    .map(finding => `the file is damaged: ${finding.integrity_check}`)
  const orphans = await queries.all('PRAGMA foreign_key_check')
  return orphans.length === 0
    ? breaches
    : [...breaches, `${orphans.length} rows refer to rows that do not exist`]
}

/** Reads a SQLite store by queries on whichever thread; closing it closes them. */
export function sqliteReports(queries: StoreQueries, clock: Clock, riskRule: () => RiskRule): Reports {
  return new StoreReports(queries, { clock, riskRule, verifyMore: verifyFile })
}

/**
 * Opens a SQLite store for reading on the calling thread, beside a running server or without one.
 * @throws StoreError when it is missing, damaged or of a newer program
 */
export function openSqliteReports(file: string, clock: Clock, riskRule = () => noRisk): Reports {
  return sqliteReports(new SqliteQueries(resolve(file)), clock, riskRule)
}
