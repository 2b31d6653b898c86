import type { Meters, ObjectFacts, ObjectKind, UsageLine } from '../money/usage.ts'
import type { Micros } from '../money/amount.ts'
import type { Price } from '../money/price.ts'
import type { JobLedger } from './job-ledger.ts'
import type { KeyBudget } from './key-spending.ts'

export type { Micros }

/** Money to set aside for a turn of an exchange. */
export interface HoldRequest {
  readonly exchangeId: string
  /** 0 for the first hold of an exchange; WebSocket turns count on. */
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly amountMicros: Micros
  /** The key's budget, where it has one: the hold is refused when the period's rest is less. */
  readonly budget?: { readonly budgetMicros: Micros; readonly period: 'total' | 'day' | 'week' | 'month' }
}

/** Money set aside for an exchange. It is resolved exactly once: charged or released. */
export interface Hold extends HoldRequest {
  /** Settles when the hold is on disk (`strict`) or at once (`relaxed`); rejects when it cannot be written. */
  readonly durable: Promise<void>
  /** True once `durable` has been fulfilled, so that the hot path need not wait a tick. */
  readonly isDurable: boolean
}

/** What an exchange consumed, and by which prices. */
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
  /** By which the provider's bill and support know the request. */
  readonly providerRequestId?: string
  readonly flags: readonly string[]
}

/** What was taken for it. */
export interface ChargeResult {
  /** What the account paid. */
  readonly amountMicros: Micros
  /** What the usage cost beyond the money there was; booked to the house account `overrun`. */
  readonly overrunMicros: Micros
  /** The request's flags, and those that pricing and paying raised. */
  readonly flags: readonly string[]
}

/** An account's money; `availableMicros` is the balance less what is held. */
export interface Balance {
  readonly balanceMicros: Micros
  readonly heldMicros: Micros
  readonly availableMicros: Micros
}

/** Something that a provider keeps, and whose it is. */
export interface ProviderObject {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
  readonly accountId: string
  /** The credential's name in the config, never its value. */
  readonly credential: string
  readonly exchangeId: string
  /** As they were when the object was recorded first. */
  readonly facts?: ObjectFacts
}

/** A hold was refused: the account has less than it takes. */
export class BalanceInsufficientError extends Error {
  readonly requiredMicros: Micros
  readonly availableMicros: Micros

  constructor(requiredMicros: Micros, availableMicros: Micros) {
    super(`the hold takes ${requiredMicros} micro-roubles and ${availableMicros} are available`)
    this.name = 'BalanceInsufficientError'
    this.requiredMicros = requiredMicros
    this.availableMicros = availableMicros
  }
}

/** A hold was refused: the key's budget has less than it takes in this period. */
export class KeyBudgetExceededError extends Error {
  readonly requiredMicros: Micros
  readonly budget: KeyBudget

  constructor(requiredMicros: Micros, budget: KeyBudget) {
    super(`the hold takes ${requiredMicros} micro-roubles and the key has ${budget.availableMicros} left`)
    this.name = 'KeyBudgetExceededError'
    this.requiredMicros = requiredMicros
    this.budget = budget
  }
}

/**
 * The ledger cannot write: its disk is full or its writer is gone. No hold is placed meanwhile, since what
 * follows it could not be charged.
 */
export class LedgerUnavailableError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'LedgerUnavailableError'
  }
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

/**
 * The one interface through which exchanges move money. Calls made in the same moment share one
 * transaction of the store.
 */
export interface Ledger extends JobLedger {
  /**
   * At once where the ledger decides in memory, and with a promise where it has to ask.
   * @throws BalanceInsufficientError when less than the amount is available
   * @throws KeyBudgetExceededError when the key may not spend as much in this period
   * @throws LedgerUnavailableError while nothing can be written
   */
  placeHold(request: HoldRequest): Hold | Promise<Hold>
  /**
   * Resolves when the charge is on disk (`strict`) or queued (`relaxed`). A hold is resolved once. When it
   * rejects with LedgerUnavailableError the charge is tried again by itself until the process ends.
   */
  charge(hold: Hold, charge: ChargeRequest): Promise<ChargeResult>
  /** Resolves at once: a release that is lost is made up for by the recovery of the next start. */
  release(hold: Hold): Promise<void>
  /** Resolves when the object is on disk. The same object again is no error and changes nothing. */
  recordObject(object: ProviderObject): Promise<void>
  findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined>
  /** What the first turn of an exchange was charged for; empty where nothing was, or not yet. */
  findUsage(exchangeId: string): Promise<Meters>
  balance(accountId: string): Promise<Balance>
  /** Makes prices known by their hash, so that charges can be recomputed after the config changed. */
  recordPrices(prices: readonly Price[]): Promise<void>
}
