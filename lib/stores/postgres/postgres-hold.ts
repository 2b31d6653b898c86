import type { HeldSums, Hold, HoldRequest, Micros } from '../../ledger/ledger.ts'

const done = Promise.resolve()

/** A hold that the database has written. */
export class PostgresHold implements Hold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly budget?: NonNullable<HoldRequest['budget']>
  likelyMicros: Micros
  worstMicros: Micros
  readonly durable = done
  readonly isDurable = true
  state: 'open' | 'charged' | 'released' | 'job' = 'open'

  constructor(
    { exchangeId, sequence, accountId, keyId, likelyMicros, budget }: HoldRequest,
    worstMicros: Micros,
  ) {
    this.exchangeId = exchangeId
    this.sequence = sequence
    this.accountId = accountId
    this.keyId = keyId
    this.likelyMicros = likelyMicros
    this.worstMicros = worstMicros
    if (budget !== undefined) this.budget = budget
  }

  /** Answers may come in another order than they were given in; no total ever falls. */
  raise({ likelyMicros, worstMicros }: HeldSums): void {
    this.likelyMicros = Math.max(this.likelyMicros, likelyMicros)
    this.worstMicros = Math.max(this.worstMicros, worstMicros)
  }
}
