import { OperationRefusedError } from './operation-refused-error.ts'
import { SpendingSums } from './spending-sums.ts'
import type { Statements } from './sqlite-statements.ts'
import type { ChargeOperation } from './store-operation.ts'

/** Moves money within the writer's transaction. */
export class SqliteEntries {
  readonly #statements: Statements
  /** A row that many charges share is updated once a batch. */
  readonly #balanceChanges = new Map<string, number>()
  readonly #spending = new SpendingSums()

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** @throws OperationRefusedError hold_not_open */
  resolve(exchangeId: string, sequence: number, state: string, at: number): void {
    if (this.#statements.resolve.run(state, at, exchangeId, sequence).changes !== 1) {
      throw notOpen(exchangeId, sequence)
    }
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
    this.#spending.add({ id: Number(lastInsertRowid), accountId, keyId, model, outcome, at, amountMicros })
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
      this.#addBalance(accountId, -amountMicros)
    }
  }

  /** One side of a transaction. */
  enter(
    exchangeId: string,
    sequence: number,
    kind: string,
    accountId: string,
    amountMicros: number,
    at: number,
    reason: string | null,
  ): void {
    this.#statements.entry.run(exchangeId, sequence, kind, accountId, amountMicros, at, reason)
    if (!accountId.startsWith('house:')) this.#addBalance(accountId, amountMicros)
  }

  /** Writes what the entries of a batch come to. */
  writeSums(): void {
    for (const [accountId, change] of this.#balanceChanges) this.#statements.balance.run(change, accountId)
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
    this.#balanceChanges.clear()
    this.#spending.clear()
  }

  /** The account pays what it has, the house the rest; sales are what was used. */
  #enterOverrun(charge: ChargeOperation): void {
    const [, exchangeId, sequence, accountId, , at] = charge
    const paid = charge[16]
    const rest = charge[17]
    if (paid > 0) this.enter(exchangeId, sequence, 'charge', accountId, -paid, at, null)
    this.enter(exchangeId, sequence, 'overrun', 'house:overrun', -rest, at, null)
    this.enter(exchangeId, sequence, 'revenue', 'house:revenue', paid + rest, at, null)
  }

  #endCharged(exchangeId: string, sequence: number, at: number): void {
    if (this.#statements.endCharged.run(at, exchangeId, sequence).changes !== 1) {
      throw notOpen(exchangeId, sequence)
    }
  }

  #addBalance(accountId: string, amountMicros: number): void {
    this.#balanceChanges.set(accountId, (this.#balanceChanges.get(accountId) ?? 0) + amountMicros)
  }
}

function notOpen(exchangeId: string, sequence: number): OperationRefusedError {
  return new OperationRefusedError('hold_not_open', `the hold ${exchangeId}/${sequence} is not open`)
}
