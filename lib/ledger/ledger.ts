import type { BudgetPeriod } from '../accounts/accounts.ts'
import type { Meters, UsageLine, ObjectFacts, ObjectKind } from '../money/usage.ts'
import { formatRoubles, type Micros } from '../money/amount.ts'
import type { Price } from '../money/price.ts'
import type { JobLedger } from './job.ts'
import type { KeyBudget } from './key-spending.ts'

/** Identifies an object of a provider. */
export interface ProviderObjectName {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
}

/** Something that a provider stores, and the account that owns it. */
export interface ProviderObject extends ProviderObjectName {
  readonly accountId: string
  /** The credential's name in the config, never its value. */
  readonly credential: string
  readonly exchangeId: string
  /** The wire format of the request that created it; absent for objects that were recorded by an earlier release. */
  readonly dialect?: string
  /** As they were when the object was first recorded. */
  readonly facts?: ObjectFacts
}

export interface ListedObject extends ProviderObject {
  /** Milliseconds since the epoch: when it was recorded. */
  readonly createdAt: number
}

/** Selects objects of an account. */
export interface ObjectQuery {
  readonly accountId: string
  readonly kind: ObjectKind
  readonly order: 'newest-first' | 'oldest-first'
  /** Only objects that follow this one in that order. */
  readonly after?: Pick<ProviderObjectName, 'provider' | 'id'>
  readonly limit: number
}

/** Objects that providers keep, and the accounts that own them. */
export interface ObjectLedger {
  /** Resolves when the object is on disk. Recording the same object again is not an error and changes nothing. */
  recordObject(object: ProviderObject): Promise<void>
  findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined>
  /** Objects of one of the `listedKinds`, less those that were unlisted. */
  listObjects(query: ObjectQuery): Promise<readonly ListedObject[]>
  /** Removes an object from all lists when its provider no longer has it; its owner stays known. Its space is freed. */
  unlistObject(name: ProviderObjectName): Promise<void>
}

/** A file, or an upload in progress, and the space that it takes of what its account may have at providers. */
export interface StoredUpload extends ProviderObjectName {
  readonly accountId: string
  /** Absent: the size that was reserved. */
  readonly bytes?: number
  /** Milliseconds since the epoch: its space is freed automatically then. */
  readonly until?: number
}

/** What an account may have at providers: files including uploads in progress, and their bytes. */
export interface UploadLimits {
  readonly filesMax: number
  readonly bytesMax: number
}

/** Limits what an account has uploaded. Concurrent uploads, on any nodes, cannot exceed the limits together. */
export interface UploadLedger {
  /**
   * Reserves space for an upload, unless it has some already. It has the exchange's id until its provider names it.
   * @returns undefined, or the account's sums when there is no room
   */
  reserveUpload(
    upload: StoredUpload & { readonly bytes: number },
    limits: UploadLimits,
  ): Promise<{ readonly files: number; readonly bytes: number } | undefined>
  /** Renames an upload that has its space as `from`. */
  keepUpload(from: ProviderObjectName, upload: StoredUpload): Promise<void>
}

export type { Micros }

/** Money to set aside for a turn of an exchange. */
export interface HoldRequest {
  readonly exchangeId: string
  /** 0 for the first hold of an exchange; turns of a WebSocket continue the count. */
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  /** What it is expected to cost: this much of the balance is held. */
  readonly likelyMicros: Micros
  /** The most that it can cost; no less than is likely. Balance and risk must cover it. */
  readonly worstMicros: Micros
  /** The most that it can cost when nothing is trusted: counts for an account without risk. Absent: `worstMicros`. */
  readonly strictMicros?: Micros
  /** The key's budget, if it has one: the hold is refused when the rest of the period's budget does not cover it. */
  readonly budget?: { readonly budgetMicros: Micros; readonly period: BudgetPeriod }
}

/** The two sums of a hold. */
export interface HeldSums {
  readonly likelyMicros: Micros
  readonly worstMicros: Micros
}

/** Money set aside for an exchange; both of its sums are current. It is resolved exactly once: charged or released. */
export interface Hold extends HoldRequest {
  /** Settles when the hold is on disk (`strict`) or at once (`relaxed`); rejects when it cannot be written. */
  readonly durable: Promise<void>
  /** True once `durable` has been fulfilled, so that the hot path need not wait a tick. */
  readonly isDurable: boolean
}

/** What an exchange consumed, and at which prices. */
export interface ChargeRequest {
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: 'completed' | 'refused' | 'aborted' | 'broken'
  readonly usageSource: 'provider' | 'drained' | 'estimated'
  /** Each line with the price that was in force when the exchange began. */
  readonly lines: readonly { readonly usage: UsageLine; readonly price: Price }[]
  /** The provider's usage as JSON text, verbatim. */
  readonly rawUsage?: string
  readonly details?: Readonly<Record<string, number>>
  /** Identifies the request in the provider's bill and to its support. */
  readonly providerRequestId?: string
  /** The model's name in the provider's response; for the log. */
  readonly answeredModel?: string
  readonly flags: readonly string[]
}

/** The result of a charge. */
export interface ChargeResult {
  /** What the account paid. */
  readonly amountMicros: Micros
  /** What the usage cost beyond the account's money; booked to the house account `overrun`, and owed by the account. */
  readonly overrunMicros: Micros
  /** The request's flags, and those that pricing and paying raised. */
  readonly flags: readonly string[]
}

/** An account's money. */
export interface Balance {
  /** The sum of its entries. */
  readonly balanceMicros: Micros
  /** What charges cost beyond the account's money. Money that comes in or becomes free pays it first. */
  readonly debtMicros: Micros
  /** The likely costs of its open holds. */
  readonly heldMicros: Micros
  /** The worst costs of its open holds. */
  readonly worstMicros: Micros
  /** What it has paid in total: payments and operators' credits, less what of them was returned. */
  readonly paidMicros: Micros
  /** How far the worst costs may go beyond its money. */
  readonly riskMicros: Micros
  /** The balance less debt and held; negative while something is owed. */
  readonly availableMicros: Micros
}

/**
 * A hold, or its growth, was refused: the account's money does not cover the likely cost, or with its risk the worst.
 */
export class BalanceInsufficientError extends Error {
  readonly likelyMicros: Micros
  readonly worstMicros: Micros
  readonly balance: Balance

  constructor(likelyMicros: Micros, worstMicros: Micros, balance: Balance) {
    super(
      `the hold takes ${likelyMicros} micro-roubles, ${worstMicros} at worst; ${balance.availableMicros} are ` +
        `available, with a risk of ${balance.riskMicros}`,
    )
    this.name = 'BalanceInsufficientError'
    this.likelyMicros = likelyMicros
    this.worstMicros = worstMicros
    this.balance = balance
  }
}

/** A hold, or its growth, was refused: the rest of the key's budget in this period does not cover it. */
export class KeyBudgetExceededError extends Error {
  readonly likelyMicros: Micros
  readonly worstMicros: Micros
  readonly budget: KeyBudget
  /** The risk of the key's account: how far the worst costs may exceed the budget. */
  readonly riskMicros: Micros

  constructor(likelyMicros: Micros, worstMicros: Micros, budget: KeyBudget, riskMicros: Micros) {
    super(
      `the hold takes ${likelyMicros} micro-roubles, ${worstMicros} at worst; the key has ` +
        `${budget.availableMicros} left`,
    )
    this.name = 'KeyBudgetExceededError'
    this.likelyMicros = likelyMicros
    this.worstMicros = worstMicros
    this.budget = budget
    this.riskMicros = riskMicros
  }
}

/**
 * The ledger cannot write: its disk is full or its writer is gone. No hold is placed meanwhile, since its exchange
 * could not be charged.
 */
export class LedgerUnavailableError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'LedgerUnavailableError'
  }
}

/** The error that callers get while nothing can be written. */
export function unavailable(cause: Error): LedgerUnavailableError {
  return new LedgerUnavailableError(cause.message, { cause })
}

/** A hold was charged or released a second time, which is a mistake of the caller. */
export class HoldResolvedError extends Error {
  readonly hold: Pick<HoldRequest, 'exchangeId' | 'sequence'>
  readonly state: string

  constructor({ exchangeId, sequence }: Pick<HoldRequest, 'exchangeId' | 'sequence'>, state: string) {
    super(`the hold ${exchangeId}/${sequence} is ${state} already`)
    this.name = 'HoldResolvedError'
    this.hold = { exchangeId, sequence }
    this.state = state
  }
}

/** The one interface through which exchanges move money. Concurrent calls share one transaction of the store. */
export interface Ledger extends JobLedger, ObjectLedger, UploadLedger {
  /**
   * Synchronous where the ledger decides in memory, a promise where it has to ask a database. A hold is admitted when
   * it fits twice: its likely cost into what is available, and its worst into the money and risk of the account beside
   * the worst of its open holds.
   * @throws BalanceInsufficientError when one of them does not fit
   * @throws KeyBudgetExceededError when one of them does not fit the key's budget
   * @throws LedgerUnavailableError while nothing can be written
   */
  placeHold(request: HoldRequest): Hold | Promise<Hold>
  /**
   * Raises an open hold to new totals, the likely one as far as money is available. A total that is lower than the
   * hold's changes nothing. Does not wait for the disk: a crash releases the hold anyway.
   * @throws BalanceInsufficientError, KeyBudgetExceededError when the worst does not fit
   * @throws HoldResolvedError when the hold is no longer open
   * @throws LedgerUnavailableError while nothing can be decided
   */
  growHold(hold: Hold, totals: HeldSums): void | Promise<void>
  /**
   * Resolves when the charge is on disk (`strict`) or queued (`relaxed`). A hold is resolved once. After a rejection
   * with LedgerUnavailableError the ledger retries the charge until the process ends.
   */
  charge(hold: Hold, charge: ChargeRequest): Promise<ChargeResult>
  /** Resolves at once: a release that is lost is repeated by the recovery of the next start. */
  release(hold: Hold): Promise<void>
  /** The usage that the first turn of an exchange was charged for; empty when there was none, or none yet. */
  findUsage(exchangeId: string): Promise<Meters>
  balance(accountId: string): Promise<Balance>
  /** Stores prices by their hash, so that charges can be recomputed after the config changed. */
  recordPrices(prices: readonly Price[]): Promise<void>
}

/** A balance in roubles, as commands and the gateway's own endpoint show it. */
export function balanceAmounts(balance: Balance) {
  return {
    balance: formatRoubles(balance.balanceMicros),
    debt: formatRoubles(balance.debtMicros),
    held: formatRoubles(balance.heldMicros),
    available: formatRoubles(balance.availableMicros),
    worst: formatRoubles(balance.worstMicros),
    risk: formatRoubles(balance.riskMicros),
    paid: formatRoubles(balance.paidMicros),
  }
}
