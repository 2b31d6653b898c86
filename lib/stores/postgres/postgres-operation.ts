import { balanceOf, type AccountMoney } from '../../ledger/balance-book.ts'
import { riskOf, countedWorst, type RiskRule } from '../../ledger/risk.ts'
import { budgetDay, budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import { BalanceInsufficientError, HoldResolvedError, KeyBudgetExceededError } from '../../ledger/ledger.ts'
import type { ChargeRequest, Micros, HeldSums, HoldRequest } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import { writeDetails, storable, type HoldOwner } from '../shared/store-operation.ts'
import { AccountError, accountNotFound } from '../../accounts/accounts.ts'

/**
 * An operation of a batch, as `apply_operations` reads it. `kind` and `account` say what to do for which account; the
 * other members depend on the kind.
 */
export interface PostgresOperation {
  readonly kind:
    | 'hold'
    | 'grow'
    | 'credit'
    | 'debit'
    | 'charge'
    | 'release'
    | 'abandon'
    | 'object'
    | 'job'
    | 'price'
    | 'balance'
  readonly account: string
  /** The exchange's id; for a price its hash. */
  readonly exchange?: string
  readonly sequence?: number
  readonly key?: string
  /** For a hold its likely cost, for a charge its cost; for a hold that grows the new total. */
  readonly amount?: number
  /** For a hold the most that it can cost; and the same without trust, where that is more. */
  readonly worst?: number
  readonly untrusted?: number
  /** The rule that gives an account's risk. */
  readonly risk_base?: number
  readonly risk_rate?: number
  readonly risk_max?: number
  readonly at?: number
  /** The node that placed the hold; for an object or a job its credential. */
  readonly owner?: string
  /** When the hold expires; for a job its deadline. */
  readonly expires?: number
  /** The kind and id of the job that is opened, charged or released with the operation. */
  readonly job_kind?: string
  readonly job?: string
  /** For the end of a job: an id of this operation, which identifies it when it is sent again. */
  readonly ended_by?: string
  /** When a job is polled first; for an object when it enters lists. */
  readonly due?: number
  readonly budget?: number
  readonly from_day?: number
  readonly until_day?: number
  /** How a hold without a charge ends. */
  readonly state?: 'released' | 'expired'
  readonly day?: number
  readonly provider?: string
  readonly model?: string
  readonly dialect?: string
  /** For an object its kind, for a job the operation that submitted it. */
  readonly operation?: string
  readonly outcome?: string
  /** For a charge the source of its usage, for a movement the source of the money. */
  readonly source?: string
  /** For a price its body, for an object its id. */
  readonly lines?: string
  readonly raw?: string | null
  /** For objects and jobs their facts, for a movement its reason. */
  readonly details?: string | null
  readonly flags?: string
}

/** How an operation ended. */
export interface PostgresAnswer {
  readonly ending:
    | 'held'
    | 'grown'
    | 'booked'
    | 'repeated'
    | 'idempotency_conflict'
    | 'balance'
    | 'budget'
    | 'hold_exists'
    | 'charged'
    | 'released'
    | 'expired'
    | 'hold_not_open'
    | 'job_opened'
    | 'job_known'
    | 'job_ended'
    | 'done'
    | 'account_not_found'
  readonly one: number | null
  readonly two: number | null
  readonly three: number | null
  readonly four: number | null
}

/** The risk rule as members of an operation. */
export function riskMembers({ baseMicros, perRoubleMicros, maxMicros }: RiskRule) {
  return { risk_base: baseMicros, risk_rate: perRoubleMicros, risk_max: maxMicros }
}

/** The account's amounts in a result that has them. */
export function accountMoney({ one, two, three, four }: PostgresAnswer): AccountMoney {
  return { netMicros: one ?? 0, heldMicros: two ?? 0, worstMicros: three ?? 0, paidMicros: four ?? 0 }
}

/** A charge as an operation for `apply_operations`. */
export function postgresCharge(
  hold: HoldOwner,
  at: number,
  request: ChargeRequest,
  priced: {
    readonly lines: readonly ChargeLine[]
    readonly costMicros: Micros
    readonly flags: readonly string[]
  },
): PostgresOperation {
  return {
    kind: 'charge',
    account: hold.accountId,
    exchange: hold.exchangeId,
    sequence: hold.sequence,
    key: hold.keyId,
    amount: priced.costMicros,
    at,
    day: budgetDay(at),
    provider: request.provider,
    model: storable(request.model),
    dialect: request.dialect,
    operation: request.operation,
    outcome: request.outcome,
    source: request.usageSource,
    lines: JSON.stringify(priced.lines),
    raw: request.rawUsage === undefined ? null : storable(request.rawUsage),
    details: writeDetails(request),
    flags: JSON.stringify(priced.flags),
  }
}

type Sums = Pick<HoldRequest, keyof HeldSums | 'strictMicros'>

/** The members of an operation for a hold's sums, and for the limits that they must fit. */
export function holdMembers(
  { budget }: Pick<HoldRequest, 'budget'>,
  sums: Sums,
  rule: RiskRule,
  at: number,
): Partial<PostgresOperation> {
  const { likelyMicros: amount, worstMicros: worst, strictMicros: untrusted } = sums
  const members = { amount, worst, ...(untrusted !== undefined && { untrusted }), ...riskMembers(rule) }
  if (budget === undefined) return members
  const { from, until } = budgetDays(budget.period, at)
  return {
    ...members,
    budget: budget.budgetMicros,
    from_day: Math.max(from, 0),
    until_day: Math.min(until, 2 ** 31 - 1),
  }
}

/** The error for a hold, or its growth, that was refused. */
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

/** The error for an operation on a hold that failed. */
export function refusal(ending: PostgresAnswer['ending'], hold: HoldRequest): Error {
  if (ending === 'account_not_found') return accountNotFound(hold.accountId)
  if (ending === 'hold_not_open') return new HoldResolvedError(hold, 'released')
  return new AccountError(ending, `the hold ${hold.exchangeId}/${hold.sequence} cannot be placed: ${ending}`)
}
