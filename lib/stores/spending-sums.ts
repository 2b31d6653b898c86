import { budgetDay } from '../ledger/key-spending.ts'

interface KeyDay {
  readonly keyId: string
  readonly day: number
  spentMicros: number
  lastAt: number
}

interface ModelDay {
  readonly accountId: string
  readonly day: number
  readonly model: string
  charges: number
  spentMicros: number
}

/** What the charges of a batch come to, by key and day and by account, day and model. */
export class SpendingSums {
  readonly byKey = new Map<string, KeyDay>()
  readonly byModel = new Map<string, ModelDay>()

  add(accountId: string, keyId: string, model: string, at: number, amountMicros: number): void {
    const day = budgetDay(at)
    const keyName = `${day} ${keyId}`
    const ofKey = this.byKey.get(keyName)
    if (ofKey === undefined) this.byKey.set(keyName, { keyId, day, spentMicros: amountMicros, lastAt: at })
    else {
      ofKey.spentMicros += amountMicros
      ofKey.lastAt = Math.max(ofKey.lastAt, at)
    }
    // Ids have no spaces; models may, so they come last.
    const modelName = `${day} ${accountId} ${model}`
    const ofModel = this.byModel.get(modelName)
    if (ofModel === undefined) {
      this.byModel.set(modelName, { accountId, day, model, charges: 1, spentMicros: amountMicros })
    } else {
      ofModel.charges += 1
      ofModel.spentMicros += amountMicros
    }
  }

  clear(): void {
    this.byKey.clear()
    this.byModel.clear()
  }
}
