import { OperationRefusedError } from '../shared/operation-refused-error.ts'
import type { RareStatements } from '../shared/rare-statements.ts'
import { sqliteErrorCode } from '../sqlite/sqlite-database.ts'
import type {
  CreditOperation,
  DebitOperation,
  TransactionAnswer,
  TransactionStep,
} from '../shared/store-operation.ts'
import { recordConflict, rowsMessage } from './records.ts'

/** Runs the steps of a transaction within the writer's own, which is undone as far when a step throws. */
export function runTransaction(
  steps: readonly TransactionStep[],
  statements: RareStatements,
  move: (operation: CreditOperation | DebitOperation) => boolean,
): TransactionAnswer {
  const rows: (readonly unknown[])[] = []
  const booked: number[] = []
  for (const [index, step] of steps.entries()) {
    if (step[0] === 'credit' || step[0] === 'debit') {
      if (move(step)) booked.push(index)
      rows.push([])
    } else rows.push(runWrite(index, step, statements))
  }
  return { rows, booked }
}

function runWrite(
  index: number,
  [, sql, values, expected]: Extract<TransactionStep, readonly ['write', ...unknown[]]>,
  statements: RareStatements,
): readonly unknown[] {
  const { rows, count } = unlessTaken(() => statements.runOne({ sql, values }))
  if (expected !== null && count !== expected) {
    throw new OperationRefusedError(recordConflict, rowsMessage(index + 1, count, expected))
  }
  return rows
}

/** A row that is there already is a conflict like any other. */
function unlessTaken<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    const code = sqliteErrorCode(error)
    if (code !== 'SQLITE_CONSTRAINT_UNIQUE' && code !== 'SQLITE_CONSTRAINT_PRIMARYKEY') throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new OperationRefusedError(recordConflict, message)
  }
}
