import type { KeyRecord } from '../accounts/accounts.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import type { KeyBudget } from './key-spending.ts'
import type { Balance, Micros } from './ledger.ts'
import type { ChargeLine } from './price-charge.ts'

/** A charge as the command line and the gateway's own endpoints show it. Amounts are roubles. */
export interface ChargeReport {
  /** The exchange's id, as `x-gateway-request-id` said it. */
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
  /** By which the provider's bill and support know the request. */
  readonly providerRequestId?: string
  /** What the account paid. */
  readonly amount: string
  /** What the usage cost beyond the money there was; absent when there was enough. */
  readonly overrun?: string
  /** What corrections gave back of it; absent when there was none. */
  readonly returned?: string
  readonly flags: readonly string[]
}

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

/** Which charges are asked for; absent means all. */
export interface ChargesFilter {
  /** Only charges with flags, or whose usage is estimated: what an operator should look at. */
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

/** Which charges of an account a page has. */
export interface ChargesAfter {
  readonly keyId: string
  /** Milliseconds since the epoch; charges from then on. */
  readonly since?: number
  /** Where to go on: `next` of the page before, or the request id of a charge. */
  readonly after?: string
}

/** Some charges, the oldest first. */
export interface ChargeReportsPage {
  readonly charges: readonly ChargeReport[]
  /** Where to go on. Absent at the end. A page with a place to go on may be short, or empty. */
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
  /** How many. */
  readonly charges: number
  readonly spentMicros: Micros
}

/** A key and what became of it. */
export interface KeyUse {
  readonly key: KeyRecord
  /** Of its last charge, in milliseconds since the epoch; absent when there is none. */
  readonly lastUsedAt?: number
  /** Absent when it has no budget. */
  readonly budget?: KeyBudget
}

/** A charge worked out again from its stored meters and the versions of the prices it names. */
export interface RecomputedCharge {
  readonly requestId: string
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly account: string
  /** What was charged, the overrun included. */
  readonly costMicros: Micros
  /** Undefined when it cannot be worked out. */
  readonly recomputedMicros: Micros | undefined
  /** The provider's usage stands beside the charge, verbatim, so that its meters could be read again, too. */
  readonly hasRawUsage: boolean
  /** What does not agree, as sentences; empty when all does, as is expected. */
  readonly differences: readonly string[]
}

/** The price of a model's entry in a configuration. */
export type PriceOf = (model: string) => Price | undefined

/** A version of a model's price that the store keeps, because charges name it. */
export interface ChargedPrice {
  readonly price: Price
  /** Of the first charge that named it, in milliseconds since the epoch. */
  readonly firstAt: number
  /** Of the last one among the latest charges; undefined when none of them named it. */
  readonly lastAt: number | undefined
  /** How many lines of the latest charges name it. */
  readonly lines: number
}

/** What the same use of a model costs by two prices. */
export interface ModelCost {
  readonly model: string
  /** How many lines of charges. */
  readonly lines: number
  /** What they were charged, by the prices of their time. */
  readonly chargedMicros: Micros
  readonly beforeMicros: Micros
  readonly afterMicros: Micros
}

/** Reads what stands in the store, beside whoever writes it. Nothing here changes anything. */
export interface Reports {
  /** As it stands on the disk; undefined for an unknown account. */
  balance(accountId: string): Promise<Balance | undefined>
  /** Oldest first; of all accounts when none is named. Read page by page. */
  charges(accountId: string | undefined, filter?: ChargesFilter): AsyncIterable<ChargeReport>
  /** Some of an account's charges, the oldest first. Quick, however many and however rare. */
  chargesPage(accountId: string, which: ChargesAfter, limit: number): Promise<ChargeReportsPage>
  /** Works the charges from a time on out again, oldest first, those that agree included. */
  recompute(since: number): AsyncIterable<RecomputedCharge>
  /** What charges from a time on would come to at other prices, by model. Reads page by page. */
  reprice(
    since: number,
    prices: { readonly before: PriceOf; readonly after: PriceOf },
  ): Promise<readonly ModelCost[]>
  /** The prices of a model's entry that charges from a time on named, the newest first. Quick, however many charges there are. */
  chargedPrices(model: string, since: number): Promise<readonly ChargedPrice[]>
  accounts(): Promise<readonly AccountReport[]>
  account(id: string): Promise<AccountReport | undefined>
  keys(accountId?: string): Promise<readonly KeyRecord[]>
  /** What a key may still spend in its period; undefined for a key without a budget. */
  keyBudget(key: KeyRecord): Promise<KeyBudget | undefined>
  /** A key of the account; undefined when it is another's, or nobody's. */
  key(accountId: string, keyId: string): Promise<KeyRecord | undefined>
  /** Keys that are in force or revoked, the newest first. */
  keyUses(
    accountId: string,
    which: { readonly isRevoked: boolean; readonly limit: number },
  ): Promise<readonly KeyUse[]>
  /** From a day on, by day. Quick, however many charges there are. */
  modelSpending(accountId: string, fromDay: number): Promise<readonly ModelSpending[]>
  latestCharges(accountId: string, limit: number): Promise<readonly ChargeReport[]>
  /** A page of an account's charges before an id, the newest first. Quick, however many and however rare. */
  findCharges(
    accountId: string,
    search: ChargeSearch,
    page: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<ChargesPage>
  /** All of them, the newest first, some at a time, read as they are taken. */
  exportCharges(accountId: string, search: ChargeSearch): AsyncIterable<readonly ChargeRecord[]>
  chargesTotal(accountId: string, search: ChargeSearch): Promise<ChargesTotal>
  /** Models that the account was charged for, by name. */
  chargedModels(accountId: string, limit: number): Promise<readonly string[]>
  /** What one exchange was charged, from a sequence on; undefined when it is another account's, or was not charged. */
  exchangeCharges(
    accountId: string,
    exchangeId: string,
    page: { readonly from: number; readonly limit: number },
  ): Promise<ExchangeCharges | undefined>
  /** The breaches of the ledger's invariants, as sentences; empty when all is in order. */
  verify(): Promise<readonly string[]>
  close(): Promise<void>
}
