import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import type { Micros } from './ledger.ts'
import type { ChargeLine } from './price-charge.ts'

/** A charge as pages show it and tables export it. */
export interface ChargeRecord {
  /** Of the row: greater for what was charged later. */
  readonly id: number
  /** The exchange's id, as `x-gateway-request-id` said it. */
  readonly requestId: string
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly keyId: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  readonly usageSource: string
  readonly lines: readonly ChargeLine[]
  /** The meters of all lines together. */
  readonly usage: Meters
  readonly details: Readonly<Record<string, number>>
  readonly providerRequestId?: string
  readonly flags: readonly string[]
  /** What the account paid. */
  readonly amountMicros: Micros
  /** What the usage cost beyond the money there was. */
  readonly overrunMicros: Micros
  /** What corrections gave back of it. */
  readonly returnedMicros: Micros
}

/** Which charges of an account are looked for; absent means all. */
export interface ChargeSearch {
  /** Moscow's days since the epoch, as `budgetDay` counts them; both are part of it. */
  readonly fromDay?: number
  readonly untilDay?: number
  readonly keyId?: string
  readonly model?: string
  readonly outcome?: string
}

/** Some of the charges that were looked for, the newest first. */
export interface ChargesPage {
  readonly charges: readonly ChargeRecord[]
  /** Where to go on: before this id. Absent at the end. There may be no charges and yet a place to go on. */
  readonly next?: number
}

/** What all charges that were looked for come to. */
export interface ChargesTotal {
  readonly charges: number
  readonly amountMicros: Micros
}

/** The charges of one exchange: a session has one for each turn. */
export interface ExchangeCharges {
  /** In their order, from the place that was asked for. */
  readonly charges: readonly ChargeRecord[]
  readonly total: ChargesTotal
  /** By version, those that the lines of `charges` name. */
  readonly prices: ReadonlyMap<string, Price>
}
