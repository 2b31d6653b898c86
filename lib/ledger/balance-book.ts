import { AccountError, accountNotFound, type CreditSource } from '../accounts/accounts.ts'
import { formatRoubles } from '../money/amount.ts'
import { BalanceInsufficientError } from './ledger.ts'
import type { Balance, ChargeResult, HeldSums, Micros } from './ledger.ts'
import { riskOf, type RiskRule } from './risk.ts'

/**
 * The amounts that decide about an account. A debt needs no amount of its own: free money pays a debt at once, so the
 * debt is the amount by which the open holds exceed the net.
 */
export interface AccountMoney {
  /** The balance less the debt; negative when the debt is larger. */
  netMicros: Micros
  heldMicros: Micros
  worstMicros: Micros
  paidMicros: Micros
}

/** An account's money as it is reported. */
export function balanceOf(money: Readonly<AccountMoney>, rule: RiskRule): Balance {
  const { netMicros, heldMicros, worstMicros, paidMicros } = money
  return {
    balanceMicros: Math.max(netMicros, heldMicros),
    debtMicros: Math.max(0, heldMicros - netMicros),
    heldMicros,
    worstMicros,
    paidMicros,
    riskMicros: riskOf(paidMicros, rule),
    availableMicros: netMicros - heldMicros,
  }
}

/** The part of a movement that counts as paid. */
export function paidOf(amountMicros: Micros, source: CreditSource): Micros {
  return source === 'starting' || source === 'correction' ? 0 : amountMicros
}

/** The error for a debit of money that an account has set aside or owes. */
export function debitRefused(amountMicros: Micros, { availableMicros, worstMicros }: Balance): AccountError {
  return new AccountError(
    'balance_insufficient',
    `${formatRoubles(amountMicros)} roubles cannot be taken out: ${formatRoubles(availableMicros)} are available, ` +
      `and open exchanges may cost up to ${formatRoubles(worstMicros)}`,
    { available: availableMicros, worst: worstMicros },
  )
}

/**
 * The money of every account, and what of it is held, in memory. Admission is decided here, in one synchronous step,
 * and is written afterwards.
 */
export class BalanceBook {
  readonly #accounts = new Map<string, AccountMoney>()
  readonly #riskRule: () => RiskRule

  constructor(riskRule: () => RiskRule) {
    this.#riskRule = riskRule
  }

  add(accountId: string, netMicros: Micros, paidMicros: Micros = 0): void {
    this.#accounts.set(accountId, { netMicros, heldMicros: 0, worstMicros: 0, paidMicros })
  }

  /** @throws AccountError account_not_found */
  balance(accountId: string): Balance {
    return balanceOf(this.#money(accountId), this.#riskRule())
  }

  /** @throws AccountError account_not_found */
  risk(accountId: string): Micros {
    return riskOf(this.#money(accountId).paidMicros, this.#riskRule())
  }

  /**
   * Sets money aside. A hold that cannot cost anything always fits.
   * @throws BalanceInsufficientError when the likely cost is more than is available, or the worst more than the
   * account's money and risk cover beside its other holds
   */
  hold(accountId: string, { likelyMicros, worstMicros }: HeldSums): void {
    const money = this.#money(accountId)
    const isCovered =
      worstMicros === 0 ||
      (likelyMicros <= money.netMicros - money.heldMicros && worstMicros <= this.#worstRoom(money))
    if (!isCovered)
      throw new BalanceInsufficientError(likelyMicros, worstMicros, balanceOf(money, this.#riskRule()))
    money.heldMicros += likelyMicros
    money.worstMicros += worstMicros
  }

  /**
   * Sets more aside for an existing hold, of the likely cost at most what is available.
   * @throws BalanceInsufficientError when money and risk do not cover the additional worst cost
   */
  grow(accountId: string, more: HeldSums): HeldSums {
    const money = this.#money(accountId)
    const { likelyMicros, worstMicros } = more
    if (worstMicros > 0 && worstMicros > this.#worstRoom(money))
      throw new BalanceInsufficientError(likelyMicros, worstMicros, balanceOf(money, this.#riskRule()))
    const raisedMicros = Math.min(likelyMicros, Math.max(0, money.netMicros - money.heldMicros))
    money.heldMicros += raisedMicros
    money.worstMicros += worstMicros
    return { likelyMicros: raisedMicros, worstMicros }
  }

  /** Restores a hold that was placed before the process began. */
  restoreHold(accountId: string, { likelyMicros, worstMicros }: HeldSums): void {
    const money = this.#money(accountId)
    money.heldMicros += likelyMicros
    money.worstMicros += worstMicros
  }

  unhold(accountId: string, { likelyMicros, worstMicros }: HeldSums): void {
    const money = this.#money(accountId)
    money.heldMicros -= likelyMicros
    money.worstMicros -= worstMicros
  }

  /** Ends a hold by paying the cost from money that no other hold has set aside; the rest is owed. */
  settle(accountId: string, held: HeldSums, costMicros: Micros): Omit<ChargeResult, 'flags'> {
    const money = this.#money(accountId)
    const balanceMicros = Math.max(money.netMicros, money.heldMicros)
    this.unhold(accountId, held)
    const amountMicros = Math.min(costMicros, balanceMicros - money.heldMicros)
    money.netMicros -= costMicros
    return { amountMicros, overrunMicros: costMicros - amountMicros }
  }

  /** Reverses a charge that could not be written. */
  undoCharge(accountId: string, costMicros: Micros): void {
    this.#money(accountId).netMicros += costMicros
  }

  credit(accountId: string, amountMicros: Micros, source: CreditSource): void {
    const money = this.#money(accountId)
    money.netMicros += amountMicros
    money.paidMicros += paidOf(amountMicros, source)
  }

  /**
   * Deducts money; the caller credits it again when it cannot be written.
   * @throws AccountError balance_insufficient when the rest would not cover the open holds
   */
  debit(accountId: string, amountMicros: Micros, source: CreditSource): void {
    const money = this.#money(accountId)
    const netMicros = money.netMicros - amountMicros
    const paidMicros = money.paidMicros - paidOf(amountMicros, source)
    const riskMicros = riskOf(paidMicros, this.#riskRule())
    if (netMicros < money.heldMicros || netMicros + riskMicros < money.worstMicros)
      throw debitRefused(amountMicros, balanceOf(money, this.#riskRule()))
    money.netMicros = netMicros
    money.paidMicros = paidMicros
  }

  /** How much more the worst cases may cost. */
  #worstRoom({ netMicros, worstMicros, paidMicros }: AccountMoney): Micros {
    return netMicros + riskOf(paidMicros, this.#riskRule()) - worstMicros
  }

  #money(accountId: string): AccountMoney {
    const money = this.#accounts.get(accountId)
    if (money === undefined) throw accountNotFound(accountId)
    return money
  }
}
