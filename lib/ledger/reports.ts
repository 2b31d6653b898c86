import type { KeyRecord } from '../accounts/accounts.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import type { KeyBudget } from './key-spending.ts'
import type { Balance, Micros } from './ledger.ts'
import type { ChargeLine } from './price-charge.ts'

/** A charge as the command line and the gateway's own endpoints show it. Amounts are roubles. */
export interface ChargeReport {
  /** The exchange's id, as in `x-gateway-request-id`. */
  readonly requestId: string
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly account: string
  /** The key's id. */
  readonly key: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  /** The meters of all lines together. */
  readonly usage: Meters
  readonly usageSource: string
  readonly lines: readonly (Omit<ChargeLine, 'amountMicros'> & { readonly amount: string })[]
  readonly details?: Readonly<Record<string, number>>
  /** Identifies the request in the provider's bill and to its support. */
  readonly providerRequestId?: string
  /** What the account paid. */
  readonly amount: string
  /** What the usage cost beyond the account's money; absent when there was enough. */
  readonly overrun?: string
  /** What corrections returned of it; absent when there was none. */
  readonly returned?: string
  readonly flags: readonly string[]
}

/** A charge as pages show it and tables export it. */
export interface ChargeRecord {
  /** The id of the row: later charges have greater ones. */
  readonly id: number
  /** The exchange's id, as in `x-gateway-request-id`. */
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
  /** What the usage cost beyond the account's money. */
  readonly overrunMicros: Micros
  /** What corrections returned of it. */
  readonly returnedMicros: Micros
}

/** A search for charges of an account; an absent member matches all. */
export interface ChargeSearch {
  /** Moscow's days since the epoch, as `budgetDay` counts them; both are inclusive. */
  readonly fromDay?: number
  readonly untilDay?: number
  readonly keyId?: string
  readonly model?: string
  readonly outcome?: string
}

/** A page of the charges that match, newest first. */
export interface ChargesPage {
  readonly charges: readonly ChargeRecord[]
  /** The next page is before this id. Absent at the end. A page without charges may still have a next one. */
  readonly next?: number
}

/** The number and the amount of all charges that match. */
export interface ChargesTotal {
  readonly charges: number
  readonly amountMicros: Micros
}

/** The charges of one exchange: a session has one for each turn. */
export interface ExchangeCharges {
  /** In order, from the requested sequence. */
  readonly charges: readonly ChargeRecord[]
  readonly total: ChargesTotal
  /** By version, those that the lines of `charges` name. */
  readonly prices: ReadonlyMap<string, Price>
}

/** A filter of charges; an absent member matches all. */
export interface ChargesFilter {
  /** Only charges with alarms among their flags, or with estimated usage: what an operator should check. */
  readonly alarmsOnly?: boolean
  readonly exchangeId?: string
  readonly keyId?: string
  /** Milliseconds since the epoch; charges from then on. */
  readonly since?: number
  /** Milliseconds since the epoch; charges before then. */
  readonly until?: number
  /** Charges after this one, for paging: the `requestId` of the last one seen. */
  readonly after?: string
}

/** Selects charges of an account for a page. */
export interface ChargesAfter {
  readonly keyId: string
  /** Milliseconds since the epoch; charges from then on. */
  readonly since?: number
  /** The cursor: `next` of the previous page, or the request id of a charge. */
  readonly after?: string
}

/** A page of charges, oldest first. */
export interface ChargeReportsPage {
  readonly charges: readonly ChargeReport[]
  /** The cursor of the next page. Absent at the end. A page that has a next one may be short, or empty. */
  readonly next?: string
}

/** An account and its money. */
export interface AccountReport extends Balance {
  readonly id: string
  readonly name: string | undefined
  readonly email: string
  readonly createdAt: number
}

/** What an account spent on a model on a day. */
export interface ModelSpending {
  /** Days since the epoch in Moscow, as `budgetDay` counts them. */
  readonly day: number
  readonly model: string
  /** The number of charges. */
  readonly charges: number
  readonly spentMicros: Micros
}

/** A key with its last use and its budget. */
export interface KeyUse {
  readonly key: KeyRecord
  /** The time of its last charge, in milliseconds since the epoch; absent when there is none. */
  readonly lastUsedAt?: number
  /** Absent when it has no budget. */
  readonly budget?: KeyBudget
}

/** A charge recomputed from its stored meters and the versions of the prices it names. */
export interface RecomputedCharge {
  readonly requestId: string
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly account: string
  /** What was charged, including the overrun. */
  readonly costMicros: Micros
  /** Undefined when it cannot be computed. */
  readonly recomputedMicros: Micros | undefined
  /** The provider's usage is stored with the charge, verbatim, so its meters could be read again. */
  readonly hasRawUsage: boolean
  /** What does not agree, as sentences; empty, as expected, when everything agrees. */
  readonly differences: readonly string[]
}

/** The price of a model's entry in a configuration. */
export type PriceOf = (model: string) => Price | undefined

/** A version of a model's price that the store keeps, because charges name it. */
export interface ChargedPrice {
  readonly price: Price
  /** The time of the first charge that named it, in milliseconds since the epoch. */
  readonly firstAt: number
  /** The time of the last of the latest charges that names it; undefined when none of them does. */
  readonly lastAt: number | undefined
  /** How many lines of the latest charges name it. */
  readonly lines: number
}

/** What the same use of a model costs at two prices. */
export interface ModelCost {
  readonly model: string
  /** The number of lines of charges. */
  readonly lines: number
  /** What they were charged, at the prices of their time. */
  readonly chargedMicros: Micros
  readonly beforeMicros: Micros
  readonly afterMicros: Micros
}

/** Reads the store, beside its writer. Nothing here changes anything. */
export interface Reports {
  /** As it is on disk; undefined for an unknown account. */
  balance(accountId: string): Promise<Balance | undefined>
  /** Oldest first; of all accounts when none is named. Read page by page. */
  charges(accountId: string | undefined, filter?: ChargesFilter): AsyncIterable<ChargeReport>
  /**
   * A page of an account's charges, oldest first. Fast, however many charges there are and however rare the matches.
   */
  chargesPage(accountId: string, which: ChargesAfter, limit: number): Promise<ChargeReportsPage>
  /** Recomputes the charges since a time, oldest first, including those that agree. */
  recompute(since: number): AsyncIterable<RecomputedCharge>
  /** What charges since a time would cost at other prices, by model. Reads page by page. */
  reprice(
    since: number,
    prices: { readonly before: PriceOf; readonly after: PriceOf },
  ): Promise<readonly ModelCost[]>
  /**
   * The prices of a model's entry that charges since a time named, newest first. Fast, however many charges there are.
   */
  chargedPrices(model: string, since: number): Promise<readonly ChargedPrice[]>
  accounts(): Promise<readonly AccountReport[]>
  account(id: string): Promise<AccountReport | undefined>
  keys(accountId?: string): Promise<readonly KeyRecord[]>
  /** What a key may still spend in its period; undefined for a key without a budget. */
  keyBudget(key: KeyRecord): Promise<KeyBudget | undefined>
  /** A key of the account; undefined when it belongs to another account, or does not exist. */
  key(accountId: string, keyId: string): Promise<KeyRecord | undefined>
  /** Keys that are either active or revoked, newest first. */
  keyUses(
    accountId: string,
    which: { readonly isRevoked: boolean; readonly limit: number },
  ): Promise<readonly KeyUse[]>
  /** From a day on, by day. Fast, however many charges there are. */
  modelSpending(accountId: string, fromDay: number): Promise<readonly ModelSpending[]>
  latestCharges(accountId: string, limit: number): Promise<readonly ChargeReport[]>
  /**
   * A page of an account's charges before an id, newest first. Fast, however many charges and however rare the matches.
   */
  findCharges(
    accountId: string,
    search: ChargeSearch,
    page: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<ChargesPage>
  /** All matching charges, newest first, page by page, read as the caller consumes them. */
  exportCharges(accountId: string, search: ChargeSearch): AsyncIterable<readonly ChargeRecord[]>
  chargesTotal(accountId: string, search: ChargeSearch): Promise<ChargesTotal>
  /** Models that the account was charged for, by name. */
  chargedModels(accountId: string, limit: number): Promise<readonly string[]>
  /** The charges of one exchange, from a sequence on; undefined when it is another account's, or was not charged. */
  exchangeCharges(
    accountId: string,
    exchangeId: string,
    page: { readonly from: number; readonly limit: number },
  ): Promise<ExchangeCharges | undefined>
  /** The breaches of the ledger's invariants, as sentences; empty when there are none. */
  verify(): Promise<readonly string[]>
  close(): Promise<void>
}
