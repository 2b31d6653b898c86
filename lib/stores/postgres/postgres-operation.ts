import type { AccountMoney } from '../../ledger/balance-book.ts'
import type { RiskRule } from '../../ledger/risk.ts'

/**
 * What a batch is asked to do, as `apply_operations` reads it. `account` and `kind` say where and what; the
 * other members are what each kind takes.
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
  /** The exchange's id; of a price its hash. */
  readonly exchange?: string
  readonly sequence?: number
  readonly key?: string
  /** Of a hold what it is likely to cost, of a charge what it costs; of a hold that grows the totals. */
  readonly amount?: number
  /** Of a hold the most that it can cost; and without trust, where that is more. */
  readonly worst?: number
  readonly untrusted?: number
  /** The rule by which an account's risk is worked out. */
  readonly risk_base?: number
  readonly risk_rate?: number
  readonly risk_max?: number
  readonly at?: number
  /** The node that placed the hold; of an object its credential. */
  readonly owner?: string
  /** Of a job its deadline. */
  readonly expires?: number
  /** The kind and id of the job that is opened, charged or released with the operation. */
  readonly job_kind?: string
  readonly job?: string
  /** Of the end of a job: a name of its own, by which it is known when it is sent again. */
  readonly ended_by?: string
  /** When a job is asked after first; of an object its place in lists. */
  readonly due?: number
  readonly budget?: number
  readonly from_day?: number
  readonly until_day?: number
  /** How a hold ends that is not charged. */
  readonly state?: 'released' | 'expired'
  readonly day?: number
  readonly provider?: string
  readonly model?: string
  readonly dialect?: string
  /** Of an object its kind, of a job what submitted it. */
  readonly operation?: string
  readonly outcome?: string
  /** Of a charge whose usage it is, of a movement where the money comes from. */
  readonly source?: string
  /** Of a price its body, of an object its id. */
  readonly lines?: string
  readonly raw?: string | null
  /** Of objects and jobs their facts, of a movement its reason. */
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

/** The rule of risk as operations carry it. */
export function riskMembers({ baseMicros, perRoubleMicros, maxMicros }: RiskRule) {
  return { risk_base: baseMicros, risk_rate: perRoubleMicros, risk_max: maxMicros }
}

/** What decides about an account, where an answer has it. */
export function accountMoney({ one, two, three, four }: PostgresAnswer): AccountMoney {
  return { netMicros: one ?? 0, heldMicros: two ?? 0, worstMicros: three ?? 0, paidMicros: four ?? 0 }
}
