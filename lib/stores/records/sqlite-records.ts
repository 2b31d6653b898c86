import { AccountError } from '../../accounts/accounts.ts'
import type { BalanceBook } from '../../ledger/balance-book.ts'
import { bookDebits } from '../sqlite/sqlite-accounts.ts'
import type { TransactionAnswer } from '../shared/store-operation.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import { dropped, written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'
import { recordReader } from './record-reader.ts'
import { RecordConflictError, recordConflict, stepMessage } from './records.ts'
import type { Records } from './records.ts'

interface SqliteRecordsOptions {
  readonly queries: StoreQueries
  readonly queue: WriteQueue
  readonly book: BalanceBook
}

/** Business rows of a SQLite store: its one writer runs the transactions. */
export function sqliteRecords({ queries, queue, book }: SqliteRecordsOptions): Records {
  return {
    ...recordReader(queries),
    async write(steps) {
      const write = (): Promise<TransactionAnswer> =>
        answered(written(queue.add({ kind: 'transaction', steps: steps.map(stepMessage) }, dropped)))
      let rows: TransactionAnswer['rows'] = []
      const debits = steps.map(step => ('debit' in step ? step.debit : undefined))
      await bookDebits({ book, queries }, debits, async () => {
        const answer = await write()
        rows = answer.rows
        for (const index of answer.booked) {
          const step = steps[index]
          if (step === undefined || !('credit' in step)) continue
          book.credit(step.credit.accountId, step.credit.amountMicros, step.credit.source)
        }
        return steps.map((_, index) => answer.booked.includes(index))
      })
      return rows
    },
  }
}

async function answered(answer: Promise<unknown>): Promise<TransactionAnswer> {
  try {
    return (await answer) as TransactionAnswer
  } catch (error) {
    if (!(error instanceof AccountError) || error.code !== recordConflict) throw error
    throw new RecordConflictError(error.message, { cause: error })
  }
}
