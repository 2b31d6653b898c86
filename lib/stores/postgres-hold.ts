import type { Hold, HoldRequest, Micros } from '../ledger/ledger.ts'

const done = Promise.resolve()

/** A hold that the database has written. */
export class PostgresHold implements Hold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly amountMicros: Micros
  readonly durable = done
  readonly isDurable = true
  state: 'open' | 'charged' | 'released' | 'job' = 'open'

  constructor({ exchangeId, sequence, accountId, keyId, amountMicros }: HoldRequest) {
    this.exchangeId = exchangeId
    this.sequence = sequence
    this.accountId = accountId
    this.keyId = keyId
    this.amountMicros = amountMicros
  }
}
