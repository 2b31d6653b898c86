import { AccountError } from '../../accounts/accounts.ts'
import {
  isStoreFailure,
  notWritten,
  postgresErrorCode,
  transaction,
} from '../postgres/postgres-connection.ts'
import type { PostgresPool, PostgresQueries } from '../postgres/postgres-connection.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { bookMovement } from '../postgres/postgres-accounts.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import { recordReader } from './record-reader.ts'
import { RecordConflictError, rowsMessage, stepMessage } from './records.ts'
import type { RecordStep, Records } from './records.ts'
import { errorWords } from '../../platform/log.ts'

const uniqueViolation = '23505'

/** Business rows of a PostgreSQL store: each `write` is a transaction on a connection of the pool. */
export function postgresRecords(
  pool: PostgresPool,
  queries: StoreQueries,
  riskRule: () => RiskRule,
): Records {
  return {
    ...recordReader(queries),
    async write(steps) {
      try {
        return await transaction(pool, 'BEGIN', async connection => {
          const rows: (readonly unknown[])[] = []
          for (const [index, step] of steps.entries())
            rows.push(await runStep(connection, index, step, riskRule()))
          return rows
        })
      } catch (error) {
        throw described(error)
      }
    },
  }
}

async function runStep(
  connection: PostgresQueries,
  index: number,
  step: RecordStep,
  rule: RiskRule,
): Promise<readonly unknown[]> {
  const message = stepMessage(step)
  if (message.kind !== 'write') {
    await bookMovement(connection, message, rule)
    return []
  }
  const { sql, values, rows: expected } = message
  const { rows, rowCount } = await connection.query<Record<string, unknown>>(sql, [...values])
  if (expected !== null && rowCount !== expected) {
    throw new RecordConflictError(rowsMessage(index + 1, rowCount ?? 0, expected))
  }
  return rows
}

function described(cause: unknown): unknown {
  if (cause instanceof RecordConflictError || cause instanceof AccountError || cause instanceof TypeError)
    return cause
  if (postgresErrorCode(cause) === uniqueViolation)
    return new RecordConflictError(errorWords(cause), { cause })
  return isStoreFailure(cause) ? notWritten(cause) : cause
}
