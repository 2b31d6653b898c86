import { paidOf } from '../../ledger/balance-book.ts'
import { OperationRefusedError } from '../shared/operation-refused-error.ts'
import type { Statements } from './sqlite-statements.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { SqliteDebts } from './sqlite-debts.ts'
import type {
  ChargeOperation,
  CreditOperation,
  DebitOperation,
  ReleaseOperation,
} from '../shared/store-operation.ts'
import { budgetDay } from '../../ledger/key-spending.ts'

/** What a batch has done to an account; a hold that ended may have changed none of it. */
interface AccountChange {
  balanceMicros: number
  debtMicros: number
  paidMicros: number
  at: number
}

interface KeyDay {
  readonly keyId: string
  readonly day: number
  spentMicros: number
  lastAt: number
}

interface SummedCharge {
  readonly id: number
  readonly accountId: string
  readonly keyId: string
  readonly model: string
  readonly outcome: string
  readonly at: number
  readonly amountMicros: number
  readonly overrunMicros: number
}

interface ChargeSum extends Omit<SummedCharge, 'id' | 'at' | 'amountMicros' | 'overrunMicros'> {
  readonly day: number
  charges: number
  spentMicros: number
  readonly firstId: number
  lastId: number
}

/** What the charges of a batch come to, by key and day, and by all that pages ask for. */
class SpendingSums {
  readonly byKey = new Map<string, KeyDay>()
  readonly ofCharges = new Map<string, ChargeSum>()

  /** Charges are added in the order of their ids. */
  add({ id, accountId, keyId, model, outcome, at, amountMicros, overrunMicros }: SummedCharge): void {
    const day = budgetDay(at)
    const keyName = `${day} ${keyId}`
    const ofKey = this.byKey.get(keyName)
    // What the account owes is spent of the key's budget, too.
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

/** Moves money within the writer's transaction. */
export class SqliteEntries {
  readonly #statements: Statements
  readonly #debts: SqliteDebts
  /** A row that many charges share is updated once a batch. */
  readonly #changes = new Map<string, AccountChange>()
  readonly #spending = new SpendingSums()

  constructor(database: SqliteDatabase, statements: Statements) {
    this.#statements = statements
    this.#debts = new SqliteDebts(database)
  }

  /** @throws OperationRefusedError hold_not_open */
  resolve([, exchangeId, sequence, accountId, state, at]: ReleaseOperation): void {
    if (this.#statements.resolve.run(state, at, exchangeId, sequence).changes !== 1) {
      throw notOpen(exchangeId, sequence)
    }
    this.#changeOf(accountId, at)
  }

  /** @throws OperationRefusedError hold_not_open */
  charge(charge: ChargeOperation): void {
    const [, exchangeId, sequence, accountId, keyId, at] = charge
    const amountMicros = charge[16]
    const overrunMicros = charge[17]
    this.#endCharged(exchangeId, sequence, at)
    const { lastInsertRowid } = this.#statements.charge.run(
      exchangeId,
      sequence,
      accountId,
      keyId,
      at,
      charge[6],
      charge[7],
      charge[8],
      charge[9],
      charge[10],
      charge[11],
      charge[12],
      charge[13],
      charge[14],
      charge[15],
      amountMicros,
      overrunMicros,
    )
    const [model, outcome] = [charge[7], charge[10]]
    const id = Number(lastInsertRowid)
    this.#spending.add({ id, accountId, keyId, model, outcome, at, amountMicros, overrunMicros })
    const change = this.#changeOf(accountId, at)
    change.balanceMicros -= amountMicros
    change.debtMicros += overrunMicros
    if (overrunMicros > 0) this.#enterOverrun(charge)
    else if (amountMicros > 0) {
      this.#statements.chargeEntries.run(
        exchangeId,
        sequence,
        accountId,
        -amountMicros,
        at,
        exchangeId,
        sequence,
        amountMicros,
        at,
      )
    }
  }

  /**
   * Money that comes in or goes out. Answers whether it was booked: the same once more changes nothing.
   * @throws OperationRefusedError account_not_found, idempotency_conflict
   */
  move([kind, id, accountId, amountMicros, reason, at, source]: CreditOperation | DebitOperation): boolean {
    const signedMicros = kind === 'credit' ? amountMicros : -amountMicros
    const isCorrection = source === 'correction'
    const earlier = this.#statements.movement.get(id, isCorrection ? source : kind)
    if (earlier !== undefined) {
      if (earlier.account_id === accountId && earlier.amount_micros === signedMicros) return false
      throw new OperationRefusedError(
        'idempotency_conflict',
        `another ${kind} was booked under this idempotency key`,
      )
    }
    this.requireCustomer(accountId)
    const { correctionEntries, movementEntries } = this.#statements
    if (isCorrection)
      correctionEntries.run(id, accountId, signedMicros, at, reason, id, -signedMicros, at, reason)
    else {
      const entry = [id, kind, accountId, signedMicros, at, reason, source]
      movementEntries.run(...entry, id, -signedMicros, at, reason)
    }
    const change = this.#changeOf(accountId, at)
    change.balanceMicros += signedMicros
    change.paidMicros += paidOf(signedMicros, source)
    return true
  }

  /** @throws OperationRefusedError account_not_found */
  requireCustomer(accountId: string): void {
    if (this.#statements.accountKind.get(accountId) !== 'customer') {
      throw new OperationRefusedError('account_not_found', `there is no account ${accountId}`)
    }
  }

  /** Writes what the entries of a batch come to, and lets what they set free pay what is owed. */
  writeSums(): void {
    for (const [accountId, change] of this.#changes) this.#writeChange(accountId, change)
    for (const { keyId, day, spentMicros, lastAt } of this.#spending.byKey.values()) {
      this.#statements.spending.run(keyId, day, spentMicros, lastAt)
    }
    for (const sum of this.#spending.ofCharges.values()) {
      const { accountId, day, model, keyId, outcome, charges, spentMicros, firstId, lastId } = sum
      const own = [accountId, day, model, keyId, outcome]
      this.#statements.chargeSum.run(...own, charges, spentMicros, firstId, lastId)
    }
    this.forgetSums()
  }

  forgetSums(): void {
    this.#changes.clear()
    this.#spending.clear()
  }

  /** The account pays what it has, the house the rest; sales are what was used. */
  #enterOverrun(charge: ChargeOperation): void {
    const [, exchangeId, sequence, accountId, , at] = charge
    const paid = charge[16]
    const rest = charge[17]
    const { entry } = this.#statements
    if (paid > 0) entry.run(exchangeId, sequence, 'charge', accountId, -paid, at)
    entry.run(exchangeId, sequence, 'overrun', 'house:overrun', -rest, at)
    entry.run(exchangeId, sequence, 'revenue', 'house:revenue', paid + rest, at)
  }

  #endCharged(exchangeId: string, sequence: number, at: number): void {
    if (this.#statements.endCharged.run(at, exchangeId, sequence).changes !== 1) {
      throw notOpen(exchangeId, sequence)
    }
  }

  #changeOf(accountId: string, at: number): AccountChange {
    let change = this.#changes.get(accountId)
    if (change === undefined) {
      change = { balanceMicros: 0, debtMicros: 0, paidMicros: 0, at }
      this.#changes.set(accountId, change)
    }
    change.at = at
    return change
  }

  #writeChange(accountId: string, { balanceMicros, debtMicros, paidMicros, at }: AccountChange): void {
    const { balance, debt } = this.#statements
    const isChanged = balanceMicros !== 0 || debtMicros !== 0 || paidMicros !== 0
    const owed = isChanged
      ? balance.get(balanceMicros, debtMicros, paidMicros, accountId)
      : debt.get(accountId)
    if (owed !== undefined && owed > 0) this.#debts.pay([accountId], at)
  }
}

function notOpen(exchangeId: string, sequence: number): OperationRefusedError {
  return new OperationRefusedError('hold_not_open', `the hold ${exchangeId}/${sequence} is not open`)
}
