import type { BalanceBook } from '../../ledger/balance-book.ts'
import type { Micros, HeldSums } from '../../ledger/ledger.ts'
import type { CreditSource, KeyEdit, KeyRecord, Movement, NewKey } from '../../accounts/accounts.ts'
import type { StoreQueries, SqlStatement } from '../shared/store-queries.ts'
import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Clock } from '../../platform/clock.ts'
import type { KeySpending } from '../../ledger/key-spending.ts'
import { newId } from '../../platform/new-id.ts'
import { movementOperation, StoredAccounts } from '../shared/stored-accounts.ts'
import { editedAnswer, editStatements, keyRecord } from '../shared/stored-keys.ts'
import type { KeyRow, ledgerColumns } from '../shared/ledger-columns.ts'
import type { RowOf } from '../shared/store-schema.ts'
import { runStatements } from './sqlite-database.ts'
import { dropped, written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

interface Debit {
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly source: CreditSource
}

const selectDebit =
  "SELECT 1 FROM entries WHERE exchange_id = ? AND sequence = 0 AND kind IN ('debit', 'correction')"

/**
 * Deducts money in memory before the debits are written, so that nothing is admitted on it meanwhile; a debit that was
 * not written, or had been booked before, is credited again. `write` resolves with whether each debit was booked, by
 * index. A debit that was booked before needs no money.
 * @throws AccountError balance_insufficient when an account does not have as much; nothing is written then
 */
export async function bookDebits(
  { book, queries }: { readonly book: BalanceBook; readonly queries: Pick<StoreQueries, 'all'> },
  debits: readonly (Debit | undefined)[],
  write: () => Promise<readonly boolean[]>,
): Promise<void> {
  const deducted = new Map<number, Debit>()
  try {
    for (const [index, debit] of debits.entries()) {
      if (debit === undefined) continue
      const isBooked = (await queries.all(selectDebit, [debit.id])).length > 0
      if (isBooked) continue
      book.debit(debit.accountId, debit.amountMicros, debit.source)
      deducted.set(index, debit)
    }
    const booked = await write()
    for (const index of deducted.keys()) if (booked[index] === true) deducted.delete(index)
  } finally {
    for (const { accountId, amountMicros, source } of deducted.values())
      book.credit(accountId, amountMicros, source)
  }
}

interface SqliteAccountsOptions {
  readonly queue: WriteQueue
  readonly book: BalanceBook
  readonly spending: KeySpending
  /** The current sums of a key's open holds. */
  readonly holds: { heldOf(keyId: string): HeldSums }
  readonly keys: MemoryKeyDirectory
  readonly clock: Clock
  readonly queries: Pick<StoreQueries, 'all'>
}

/** Changes of accounts and keys on SQLite: on disk first, then in memory. */
export class SqliteAccounts extends StoredAccounts {
  readonly #options: SqliteAccountsOptions
  #lastEdit: Promise<unknown> = Promise.resolve()

  constructor(options: SqliteAccountsOptions) {
    super(options)
    this.#options = options
  }

  override async createAccount(
    account: Parameters<StoredAccounts['createAccount']>[0],
  ): Promise<{ id: string }> {
    const opened = await super.createAccount(account)
    this.#options.book.add(opened.id, 0)
    return opened
  }

  async credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }> {
    const { queue, book, clock } = this.#options
    const movement = movementOperation('credit', credit, clock.now())
    const { id: entryId, accountId, amountMicros, source } = movement
    const isBooked = await written(queue.add(movement, dropped))
    if (isBooked === true) book.credit(accountId, amountMicros, source)
    return { entryId, balanceMicros: book.balance(accountId).balanceMicros }
  }

  async debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }> {
    const { queue, book, clock } = this.#options
    const movement = movementOperation('debit', debit, clock.now())
    await bookDebits(this.#options, [movement], async () => [
      (await written(queue.add(movement, dropped))) === true,
    ])
    return { entryId: movement.id, balanceMicros: book.balance(movement.accountId).balanceMicros }
  }

  override async createKey(key: NewKey): Promise<{ id: string; key: string }> {
    const made = await super.createKey(key)
    if (key.budgetMicros !== undefined) this.#options.spending.watch(made.id)
    return made
  }

  /** Runs edits one after the other: each begins with the budget that the one before has left. */
  editKey(edit: KeyEdit): Promise<KeyRecord> {
    const edited = this.#lastEdit.then(() => this.#editKey(edit))
    this.#lastEdit = edited.catch(() => undefined)
    return edited
  }

  async #editKey(edit: KeyEdit): Promise<KeyRecord> {
    const { spending, keys, clock, holds } = this.#options
    const { id, budgetMicros = null } = edit
    const statements = editStatements(edit, newId(), clock.now())
    const isFirstBudget = budgetMicros !== null && keys.findById(id)?.budgetMicros === undefined
    // Charges that are decided from here on are counted in memory; earlier ones are ahead of this in the queue.
    if (isFirstBudget) spending.watchFromNow(id, holds.heldOf(id))
    const answer = this.change<KeyRow>(statements)
    const spent = this.change<RowOf<typeof ledgerColumns.key_spending>>([
      { sql: 'SELECT * FROM key_spending WHERE key_id = ?', values: [id] },
    ])
    try {
      const row = editedAnswer(edit, await answer)
      const days = await spent
      if (isFirstBudget) for (const { day, spent_micros } of days) spending.load(id, day, spent_micros)
      const key = keys.edit(keyRecord(row))
      if (key.budgetMicros === undefined) spending.forget(id)
      return key
    } catch (error) {
      if (isFirstBudget) spending.forget(id)
      throw error
    } finally {
      await spent.catch(() => undefined)
    }
  }

  protected change<Row extends object>(statements: readonly SqlStatement[]): Promise<readonly Row[]> {
    return runStatements<Row>(this.#options.queue, statements)
  }
}
