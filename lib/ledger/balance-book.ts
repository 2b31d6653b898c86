import { AccountError } from '../accounts/accounts.ts'
import { BalanceInsufficientError } from './ledger.ts'
import type { Balance, ChargeResult, Micros } from './ledger.ts'

interface Money {
  balanceMicros: Micros
  heldMicros: Micros
}

/**
 * What every account has and what of it is held, in memory. Admission is decided here, in one step that
 * nothing can come between, and is written afterwards.
 */
export class BalanceBook {
  readonly #accounts = new Map<string, Money>()

  add(accountId: string, balanceMicros: Micros): void {
    this.#accounts.set(accountId, { balanceMicros, heldMicros: 0 })
  }

  /** @throws AccountError account_not_found */
  balance(accountId: string): Balance {
    const { balanceMicros, heldMicros } = this.#money(accountId)
    return { balanceMicros, heldMicros, availableMicros: balanceMicros - heldMicros }
  }

  /**
   * Sets money aside.
   * @throws BalanceInsufficientError when less than that is available
   */
  hold(accountId: string, amountMicros: Micros): void {
    const money = this.#money(accountId)
    const availableMicros = money.balanceMicros - money.heldMicros
    if (amountMicros > availableMicros) throw new BalanceInsufficientError(amountMicros, availableMicros)
    money.heldMicros += amountMicros
  }

  /** What was set aside before the process began. */
  restoreHold(accountId: string, amountMicros: Micros): void {
    this.#money(accountId).heldMicros += amountMicros
  }

  unhold(accountId: string, amountMicros: Micros): void {
    this.#money(accountId).heldMicros -= amountMicros
  }

  /** Ends a hold by paying the cost, as far as money goes that no other hold has set aside. */
  settle(accountId: string, holdMicros: Micros, costMicros: Micros): Omit<ChargeResult, 'flags'> {
    const money = this.#money(accountId)
    money.heldMicros -= holdMicros
    const amountMicros = Math.min(costMicros, money.balanceMicros - money.heldMicros)
    money.balanceMicros -= amountMicros
    return { amountMicros, overrunMicros: costMicros - amountMicros }
  }

  credit(accountId: string, amountMicros: Micros): void {
    this.#money(accountId).balanceMicros += amountMicros
  }

  #money(accountId: string): Money {
    const money = this.#accounts.get(accountId)
    if (money === undefined) throw new AccountError('account_not_found', `there is no account ${accountId}`)
    return money
  }
}
