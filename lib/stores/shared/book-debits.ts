import type { BalanceBook } from '../../ledger/balance-book.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { CreditSource } from '../../accounts/accounts.ts'
import type { StoreQueries } from './store-queries.ts'

interface Debit {
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly source: CreditSource
}

const selectDebit =
  "SELECT 1 FROM entries WHERE exchange_id = ? AND sequence = 0 AND kind IN ('debit', 'correction')"

/**
 * Takes money out of the memory before it is taken out on the disk, so that nothing is admitted on it meanwhile;
 * what was not written, or had been before, is credited again. `write` answers which were booked, by their index.
 * One that was booked before needs no money.
 * @throws AccountError balance_insufficient when an account cannot give as much; nothing is written then
 */
export async function bookDebits(
  { book, queries }: { readonly book: BalanceBook; readonly queries: Pick<StoreQueries, 'all'> },
  debits: readonly (Debit | undefined)[],
  write: () => Promise<readonly boolean[]>,
): Promise<void> {
  const taken = new Map<number, Debit>()
  try {
    for (const [index, debit] of debits.entries()) {
      if (debit === undefined) continue
      const isBooked = (await queries.all(selectDebit, [debit.id])).length > 0
      if (isBooked) continue
      book.debit(debit.accountId, debit.amountMicros, debit.source)
      taken.set(index, debit)
    }
    const booked = await write()
    for (const index of taken.keys()) if (booked[index] === true) taken.delete(index)
  } finally {
    for (const { accountId, amountMicros, source } of taken.values())
      book.credit(accountId, amountMicros, source)
  }
}
