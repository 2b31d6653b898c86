import { budgetDay } from '../../ledger/key-spending.ts'

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
export class SpendingSums {
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
