import type { BalanceBook } from '../../ledger/balance-book.ts'
import type { Micros, HeldSums } from '../../ledger/ledger.ts'
import type {
  CreditSource,
  AccountBlock,
  Accounts,
  KeyEdit,
  KeyRecord,
  Movement,
  NewKey,
} from '../../accounts/accounts.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Clock } from '../../platform/clock.ts'
import type { KeySpending } from '../../ledger/key-spending.ts'
import { newId } from '../../platform/new-id.ts'
import {
  blockedAnswer,
  blockStatements,
  accountEmail,
  movementOperation,
  newKeyRow,
  openedAnswer,
  openStatements,
} from '../shared/account-rules.ts'
import type { BlockedRow } from '../shared/account-rules.ts'
import {
  checkMade,
  editedAnswer,
  editStatements,
  makeStatements,
  revokedAnswer,
  revokeStatements,
  keyRecord,
} from '../shared/stored-keys.ts'
import type { MadeRow, RevokedRow } from '../shared/stored-keys.ts'
import type { KeyRow, ledgerColumns } from '../shared/ledger-columns.ts'
import type { RowOf } from '../shared/row-of.ts'
import { runStatements } from './run-statements.ts'
import type { SqlStatement } from '../shared/user-tables.ts'
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

interface SqliteAccountsOptions {
  readonly queue: WriteQueue
  readonly book: BalanceBook
  readonly spending: KeySpending
  /** What a key's open holds come to, now. */
  readonly holds: { heldOf(keyId: string): HeldSums }
  readonly keys: MemoryKeyDirectory
  readonly clock: Clock
  readonly queries: Pick<StoreQueries, 'all'>
}

/** Changes of accounts and keys on SQLite: on the disk first, then in memory. */
export class SqliteAccounts implements Accounts {
  readonly #options: SqliteAccountsOptions
  #lastEdit: Promise<unknown> = Promise.resolve()

  constructor(options: SqliteAccountsOptions) {
    this.#options = options
  }

  async createAccount(account: { readonly email: string; readonly name?: string }): Promise<{ id: string }> {
    const email = accountEmail(account.email)
    const { queue, book, clock } = this.#options
    const opened = { id: newId(), userId: newId(), email, name: account.name ?? null }
    openedAnswer(opened, await runStatements(queue, openStatements(opened, clock.now())))
    book.add(opened.id, 0)
    return { id: opened.id }
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

  async createKey(key: NewKey): Promise<{ id: string; key: string }> {
    const { queue, spending, keys, clock } = this.#options
    const { row, value } = newKeyRow(key, clock.now())
    const { activeKeysMax } = key
    checkMade(row, activeKeysMax, await runStatements<MadeRow>(queue, makeStatements(row, activeKeysMax)))
    if (row.budget_micros !== null) spending.watch(row.id)
    keys.put(row.digest, keyRecord(row))
    return { id: row.id, key: value }
  }

  async revokeKey(id: string, operator?: string): Promise<void> {
    const { queue, keys, clock } = this.#options
    const statements = revokeStatements({ id, operator, actionId: newId() }, clock.now())
    keys.revoke(id, revokedAnswer(id, await runStatements<RevokedRow>(queue, statements)))
  }

  /** One after the other: each begins with the budget that the one before has left. */
  editKey(edit: KeyEdit): Promise<KeyRecord> {
    const edited = this.#lastEdit.then(() => this.#editKey(edit))
    this.#lastEdit = edited.catch(() => undefined)
    return edited
  }

  async #editKey(edit: KeyEdit): Promise<KeyRecord> {
    const { queue, spending, keys, clock, holds } = this.#options
    const { id, budgetMicros = null } = edit
    const statements = editStatements(edit, newId(), clock.now())
    const isFirstBudget = budgetMicros !== null && keys.findById(id)?.budgetMicros === undefined
    // Charges that are decided from here on are counted in memory; those before stand before this in the queue.
    if (isFirstBudget) spending.watchFromNow(id, holds.heldOf(id))
    const answer = runStatements<KeyRow>(queue, statements)
    const spent = runStatements<SpentRow>(queue, [spentStatement(id)])
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

  async setBlocked(block: AccountBlock): Promise<{ readonly blockedAt: number | null }> {
    const { queue, keys, clock } = this.#options
    const statements = blockStatements(block, newId(), clock.now())
    const { blockedAt } = blockedAnswer(block, await runStatements<BlockedRow>(queue, statements))
    keys.block(block.accountId, blockedAt)
    return { blockedAt }
  }
}

type SpentRow = Pick<RowOf<typeof ledgerColumns.key_spending>, 'day' | 'spent_micros'>

function spentStatement(keyId: string): SqlStatement {
  return { sql: 'SELECT day, spent_micros FROM key_spending WHERE key_id = ?', values: [keyId] }
}
