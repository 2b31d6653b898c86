import { AccountError } from '../../accounts/accounts.ts'
import { balanceOf } from '../../ledger/balance-book.ts'
import { budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import { BalanceInsufficientError, HoldResolvedError, KeyBudgetExceededError } from '../../ledger/ledger.ts'
import type { HeldSums, HoldRequest } from '../../ledger/ledger.ts'
import { riskOf, countedWorst } from '../../ledger/risk.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { accountMoney, riskMembers } from './postgres-operation.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'

type Sums = Pick<HoldRequest, keyof HeldSums | 'strictMicros'>

/** What an operation says of a hold's sums, and of what they must fit into. */
export function holdMembers(
  hold: Pick<HoldRequest, 'budget'>,
  sums: Sums,
  rule: RiskRule,
  at: number,
): Partial<PostgresOperation> {
  return { ...sumMembers(sums), ...budgetMembers(hold, at), ...riskMembers(rule) }
}

function sumMembers({
  likelyMicros: amount,
  worstMicros: worst,
  strictMicros: untrusted,
}: Sums): Partial<PostgresOperation> {
  return untrusted === undefined ? { amount, worst } : { amount, worst, untrusted }
}

function budgetMembers({ budget }: Pick<HoldRequest, 'budget'>, at: number): Partial<PostgresOperation> {
  if (budget === undefined) return {}
  const { from, until } = budgetDays(budget.period, at)
  return {
    budget: budget.budgetMicros,
    from_day: Math.max(from, 0),
    until_day: Math.min(until, 2 ** 31 - 1),
  }
}

/** What a hold, or its growth, did not fit into. */
export function holdRefusal(
  answer: PostgresAnswer,
  hold: HoldRequest,
  sums: Sums,
  rule: RiskRule,
  at: number,
): Error {
  const { ending, one, two, three, four } = answer
  const { budget } = hold
  const { likelyMicros } = sums
  if (ending === 'balance') {
    const balance = balanceOf(accountMoney(answer), rule)
    return new BalanceInsufficientError(likelyMicros, countedWorst(sums, balance.riskMicros), balance)
  }
  if (ending === 'budget' && budget !== undefined) {
    const riskMicros = riskOf(four ?? 0, rule)
    const held = { likelyMicros: two ?? 0, worstMicros: three ?? 0 }
    const left = keyBudget(budget, one ?? 0, held, at)
    return new KeyBudgetExceededError(likelyMicros, countedWorst(sums, riskMicros), left, riskMicros)
  }
  return refusal(ending, hold)
}

/** Why an operation on a hold came to nothing. */
export function refusal(ending: PostgresAnswer['ending'], hold: HoldRequest): Error {
  if (ending === 'account_not_found') return new AccountError(ending, `there is no account ${hold.accountId}`)
  if (ending === 'hold_not_open') return new HoldResolvedError(hold, 'released')
  return new AccountError(ending, `the hold ${hold.exchangeId}/${hold.sequence} cannot be placed: ${ending}`)
}
