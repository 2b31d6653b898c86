import { accountNotFound, idempotencyConflict } from '../../accounts/accounts.ts'
import { paidOf } from '../../ledger/balance-book.ts'
import type { AccountChange, ChargeSum, KeyDay, Statements } from './sqlite-statements.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import {
  type ChargeOperation,
  type HoldOwner,
  type MovementOperation,
  type ReleaseOperation,
  type EndJobOperation,
  type JobOperation,
  releaseOperation,
} from '../shared/store-operation.ts'
import { budgetDay } from '../../ledger/key-spending.ts'
import { newId } from '../../platform/new-id.ts'

/** Pays the debts of accounts from money that has become free, within the writer's transaction. */
export class SqliteDebts {
  readonly #statements: ReturnType<typeof prepareDebtStatements>

  constructor(database: SqliteDatabase) {
    this.#statements = prepareDebtStatements(database)
  }

  /** Pays the debts of accounts whose money and holds have changed. */
  pay(accountIds: Iterable<string>, at: number): void {
    for (const accountId of accountIds) {
      const micros = this.#statements.payable.get(accountId) ?? 0
      if (micros <= 0) continue
      const repayment = { id: `repayment:${newId()}`, accountId, micros, at }
      this.#statements.entries.run(repayment)
      this.#statements.repay.run(repayment)
    }
  }

  /** Pays the debts of all accounts, after many holds have ended. */
  payAll(at: number): void {
    this.pay(this.#statements.indebted.all(), at)
  }
}

function prepareDebtStatements(database: SqliteDatabase) {
  return {
    indebted: database.prepare<[], string>('SELECT id FROM accounts WHERE debt_micros > 0').pluck(),
    payable: database
      .prepare<[string], number>(
        `SELECT min(debt_micros, balance_micros - (SELECT coalesce(sum(amount_micros), 0) FROM holds
           WHERE state = 'open' AND account_id = accounts.id))
         FROM accounts WHERE id = ? AND debt_micros > 0`,
      )
      .pluck(),
    entries: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       VALUES (@id, 0, 'repayment', @accountId, -@micros, @at), (@id, 0, 'repaid', 'house:overrun', @micros, @at)`,
    ),
    repay: database.prepare(
      `UPDATE accounts SET balance_micros = balance_micros - @micros, debt_micros = debt_micros - @micros
       WHERE id = @accountId`,
    ),
  }
}

/** Sums of the charges of a batch: by key and day, and by everything that pages group by. */
class SpendingSums {
  readonly byKey = new Map<string, KeyDay>()
  readonly ofCharges = new Map<string, ChargeSum>()

  /** Charges are added in the order of their ids. */
  add(id: number, charge: ChargeOperation): void {
    const { accountId, keyId, model, outcome, at, amountMicros, overrunMicros } = charge
    const day = budgetDay(at)
    const keyName = `${day} ${keyId}`
    const ofKey = this.byKey.get(keyName)
    // What the account owes counts against the key's budget, too.
    const costMicros = amountMicros + overrunMicros
    if (ofKey === undefined) this.byKey.set(keyName, { keyId, day, spentMicros: costMicros, lastAt: at })
    else {
      ofKey.spentMicros += costMicros
      ofKey.lastAt = Math.max(ofKey.lastAt, at)
    }
    // Ids have no spaces; models may, so they come last.
    const name = `${keyName} ${accountId} ${outcome} ${model}`
    const sum = this.ofCharges.get(name)
    if (sum === undefined) {
      const own = { accountId, day, model, keyId, outcome }
      this.ofCharges.set(name, { ...own, charges: 1, spentMicros: amountMicros, firstId: id, lastId: id })
    } else {
      sum.charges += 1
      sum.spentMicros += amountMicros
      sum.lastId = id
    }
  }

  clear(): void {
    this.byKey.clear()
    this.ofCharges.clear()
  }
}

/**
 * The hold or job that an operation should end has ended already. It refuses no user's change, so no page has a text
 * for it.
 */
export class NotOpenError extends Error {
  readonly code: 'hold_not_open' | 'job_not_open'

  constructor(code: NotOpenError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Moves money within the writer's transaction. */
export class SqliteEntries {
  readonly #statements: Statements
  readonly #debts: SqliteDebts
  /** A row that many charges share is updated once per batch. */
  readonly #changes = new Map<string, AccountChange>()
  readonly #spending = new SpendingSums()

  constructor(database: SqliteDatabase, statements: Statements) {
    this.#statements = statements
    this.#debts = new SqliteDebts(database)
  }

  /** @throws NotOpenError */
  resolve(release: ReleaseOperation): void {
    if (this.#statements.resolve.run(release).changes !== 1) throw notOpen(release)
    this.#changeOf(release)
  }

  /** @throws NotOpenError */
  charge(charge: ChargeOperation): void {
    const { amountMicros, overrunMicros } = charge
    const statements = this.#statements
    if (statements.endCharged.run(charge).changes !== 1) throw notOpen(charge)
    this.#spending.add(Number(statements.charge.run(charge).lastInsertRowid), charge)
    const change = this.#changeOf(charge)
    change.balanceMicros -= amountMicros
    change.debtMicros += overrunMicros
    if (overrunMicros > 0) statements.overrunEntries.run(charge)
    else if (amountMicros > 0) statements.chargeEntries.run(charge)
  }

  /**
   * Books money in or out. Returns whether it was booked: a repetition changes nothing.
   * @throws AccountError account_not_found, idempotency_conflict
   */
  move(movement: MovementOperation): boolean {
    const { kind, accountId, source } = movement
    const { movement: find, accountKind, correctionEntries, movementEntries } = this.#statements
    const isCorrection = source === 'correction'
    const amountMicros = kind === 'credit' ? movement.amountMicros : -movement.amountMicros
    const entry = { ...movement, kind: isCorrection ? source : kind, amountMicros }
    const earlier = find.get(entry)
    if (earlier !== undefined) {
      if (earlier.accountId === accountId && earlier.amountMicros === amountMicros) return false
      throw idempotencyConflict(kind)
    }
    if (accountKind.get(accountId) !== 'customer') throw accountNotFound(accountId)
    if (isCorrection) correctionEntries.run(entry)
    else movementEntries.run(entry)
    const change = this.#changeOf(movement)
    change.balanceMicros += amountMicros
    change.paidMicros += paidOf(amountMicros, source)
    return true
  }

  /** Writes the sums of a batch's entries, and pays debts from the money that they free. */
  writeSums(): void {
    for (const change of this.#changes.values()) this.#writeChange(change)
    for (const ofKey of this.#spending.byKey.values()) this.#statements.spending.run(ofKey)
    for (const sum of this.#spending.ofCharges.values()) this.#statements.chargeSum.run(sum)
    this.forgetSums()
  }

  forgetSums(): void {
    this.#changes.clear()
    this.#spending.clear()
  }

  #changeOf({ accountId, at }: Pick<AccountChange, 'accountId' | 'at'>): AccountChange {
    let change = this.#changes.get(accountId)
    if (change === undefined) {
      change = { accountId, balanceMicros: 0, debtMicros: 0, paidMicros: 0, at }
      this.#changes.set(accountId, change)
    }
    change.at = at
    return change
  }

  #writeChange(change: AccountChange): void {
    const { accountId, balanceMicros, debtMicros, paidMicros, at } = change
    const { balance, debt } = this.#statements
    const isChanged = balanceMicros !== 0 || debtMicros !== 0 || paidMicros !== 0
    const owed = isChanged ? balance.get(change) : debt.get(accountId)
    if (owed !== undefined && owed > 0) this.#debts.pay([accountId], at)
  }
}

/** The error for a hold that is not open. */
function notOpen({ exchangeId, sequence }: Pick<HoldOwner, 'exchangeId' | 'sequence'>): NotOpenError {
  return new NotOpenError('hold_not_open', `the hold ${exchangeId}/${sequence} is not open`)
}

/** The writer's statements on jobs, prepared once. */
function prepareJobStatements(database: SqliteDatabase) {
  return {
    job: database.prepare<JobOperation>(
      `INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect,
         operation, model, facts, next_poll_at, deadline_at, created_at)
       VALUES (@provider, @jobKind, @id, @exchangeId, @sequence, @accountId, @keyId, @credential, @dialect,
         @operation, @model, @facts, @nextPollAt, @deadlineAt, @at) ON CONFLICT DO NOTHING`,
    ),
    moveHold: database.prepare<JobOperation>(
      `UPDATE holds SET owner = 'jobs', expires_at = @deadlineAt
       WHERE exchange_id = @exchangeId AND sequence = @sequence AND state = 'open'`,
    ),
    endJob: database.prepare(
      `UPDATE jobs SET state = @state, resolved_at = @at
       WHERE provider = @provider AND kind = @jobKind AND id = @id AND state = 'open'`,
    ),
  }
}

/** Writes jobs within the writer's transaction. */
export class SqliteJobRows {
  readonly #statements: ReturnType<typeof prepareJobStatements>
  readonly #entries: SqliteEntries

  constructor(database: SqliteDatabase, entries: SqliteEntries) {
    this.#statements = prepareJobStatements(database)
    this.#entries = entries
  }

  /** Returns false for a job that is already known, and releases the hold. */
  open(job: JobOperation): boolean {
    if (this.#statements.job.run(job).changes === 0) {
      this.#entries.resolve(releaseOperation(job, 'released', job.at))
      return false
    }
    if (this.#statements.moveHold.run(job).changes !== 1) throw notOpen(job)
    return true
  }

  /** @throws NotOpenError */
  end({ provider, jobKind, id, ending }: EndJobOperation): undefined {
    const state = ending.kind === 'charge' ? 'charged' : 'released'
    if (this.#statements.endJob.run({ provider, jobKind, id, state, at: ending.at }).changes !== 1) {
      throw new NotOpenError('job_not_open', `the ${jobKind} ${id} is not open`)
    }
    if (ending.kind === 'charge') this.#entries.charge(ending)
    else this.#entries.resolve(ending)
  }
}
