import { setTimeout as delay } from 'node:timers/promises'
import { AccountError, accountNotFound, idempotencyConflict } from '../../accounts/accounts.ts'
import type { KeyEdit, KeyRecord, Movement } from '../../accounts/accounts.ts'
import { balanceOf, debitRefused } from '../../ledger/balance-book.ts'
import { type Micros } from '../../ledger/ledger.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { isStoreFailure, notWritten, transaction } from './postgres-connection.ts'
import type { PostgresQueries, PostgresPool } from './postgres-connection.ts'
import { accountMoney, riskMembers } from './postgres-operation.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import type { KeyRow } from '../shared/ledger-columns.ts'
import type { MovementOperation } from '../shared/store-operation.ts'
import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/new-id.ts'
import { movementOperation, StoredAccounts } from '../shared/stored-accounts.ts'
import { editedAnswer, editStatements, keyRecord } from '../shared/stored-keys.ts'
import type { SqlStatement } from '../shared/store-queries.ts'
import { runAll } from './postgres-queries.ts'

/**
 * Books money in or out, within a transaction; returns the balance. Repeating a movement changes nothing.
 * @throws AccountError account_not_found, idempotency_conflict, and balance_insufficient when the rest would not cover
 * the open holds
 */
export async function bookMovement(
  queries: PostgresQueries,
  { kind, id, accountId, amountMicros, reason, at, source }: MovementOperation,
  rule: RiskRule,
): Promise<Micros> {
  const operation: PostgresOperation & { readonly i: number } = {
    i: 0,
    kind,
    account: accountId,
    exchange: id,
    amount: amountMicros,
    details: reason,
    at,
    source,
    ...riskMembers(rule),
  }
  const values = [JSON.stringify([operation])]
  const { rows } = await queries.query<PostgresAnswer>('SELECT * FROM apply_operations($1)', values)
  const [answer] = rows
  if (answer === undefined) throw new Error('the database returned no result for a movement')
  switch (answer.ending) {
    case 'booked':
    case 'repeated':
      return balanceOf(accountMoney(answer), rule).balanceMicros
    case 'balance':
      throw debitRefused(amountMicros, balanceOf(accountMoney(answer), rule))
    case 'idempotency_conflict':
      throw idempotencyConflict(kind)
    default:
      throw accountNotFound(accountId)
  }
}

interface PostgresAccountsOptions {
  readonly pool: PostgresPool
  readonly keys: MemoryKeyDirectory
  readonly clock: Clock
  readonly riskRule: () => RiskRule
  /** This node's id among the nodes that keys are announced to. */
  readonly owner: string
}

/** How many times a change is attempted when the connection fails, and the delay between attempts. */
const attempts = 4
const retryMs = 250
/** How long a change of keys waits for the other nodes; a node that has not read it by then does so soon after. */
const nodesWaitMsMax = 1000
const nodesPollMs = 10

/**
 * Changes of accounts and keys on PostgreSQL, each a transaction. Ids are generated before the first attempt and each
 * step detects that it is already done, so that an attempt whose result was lost can be repeated safely.
 */
export class PostgresAccounts extends StoredAccounts {
  readonly #options: PostgresAccountsOptions

  constructor(options: PostgresAccountsOptions) {
    super(options)
    this.#options = options
  }

  credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }> {
    return this.#move('credit', credit)
  }

  debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }> {
    return this.#move('debit', debit)
  }

  async editKey(edit: KeyEdit): Promise<KeyRecord> {
    const { keys, clock } = this.#options
    const row = editedAnswer(edit, await this.change<KeyRow>(editStatements(edit, newId(), clock.now())))
    const key = keys.edit(keyRecord(row))
    await this.waitForNodes('id', edit.id)
    return key
  }

  protected change<Row extends object>(statements: readonly SqlStatement[]): Promise<readonly Row[]> {
    return this.#change(queries => runAll<Row>(queries, statements))
  }

  /** Waits until the live nodes have read the current rows of keys. */
  protected override async waitForNodes(column: 'id' | 'account_id', value: string): Promise<void> {
    try {
      await this.#pollNodes(column, value)
    } catch (error) {
      // The change is committed, and the value of a new key, which is stored nowhere, must reach the caller.
      if (!isStoreFailure(error)) throw error
    }
  }

  async #move(
    kind: 'credit' | 'debit',
    movement: Movement,
  ): Promise<{ entryId: string; balanceMicros: Micros }> {
    const { clock, riskRule } = this.#options
    const own = movementOperation(kind, movement, clock.now())
    const balanceMicros = await this.#change(queries => bookMovement(queries, own, riskRule()))
    return { entryId: own.id, balanceMicros }
  }

  async #pollNodes(column: 'id' | 'account_id', value: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < nodesWaitMsMax; waitedMs += nodesPollMs) {
      const { rowCount } = await this.#options.pool.query(
        `SELECT 1 FROM nodes WHERE id <> $1 AND lease_until > now()
           AND seen_version < (SELECT max(version) FROM keys WHERE ${column} = $2) LIMIT 1`,
        [this.#options.owner, value],
      )
      if (rowCount === 0) return
      await delay(nodesPollMs)
    }
  }

  async #change<T>(change: (queries: PostgresQueries) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction(this.#options.pool, 'BEGIN', change)
      } catch (cause) {
        if (cause instanceof AccountError || !isStoreFailure(cause)) throw cause
        if (attempt === attempts) throw notWritten(cause)
      }
      await delay(retryMs)
    }
  }
}
