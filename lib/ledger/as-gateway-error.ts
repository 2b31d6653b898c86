import { formatRoubles } from '../money/amount.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { BalanceInsufficientError, KeyBudgetExceededError, LedgerUnavailableError } from './ledger.ts'
import type { Balance, Micros } from './ledger.ts'

/** The largest costs with which one more exchange would be admitted. */
export interface Admitted {
  readonly likelyMicros: Micros
  readonly worstMicros: Micros
  /** The account has no risk: the strict worst cost counts. */
  readonly isStrict: boolean
}

/** How an exchange could be made to fit. */
export interface WaysToFit {
  /** The largest cap on output tokens with which it fits; 0 when none does. */
  readonly maxTokens?: number
  /** Sentences for the client, each with a space before it; empty when nothing helps. */
  readonly advice: string
}

/** What the hold was requested for, in the client's terms. */
interface Wanted {
  readonly subject: 'This request' | 'The next turn'
  readonly waysToFit: (room: Admitted) => WaysToFit
}

/** The largest costs that one more exchange of the account may have. */
export function roomOf(balance: Balance): Admitted {
  const { balanceMicros, debtMicros, riskMicros, worstMicros, availableMicros } = balance
  return {
    likelyMicros: Math.max(0, availableMicros),
    worstMicros: Math.max(0, balanceMicros - debtMicros + riskMicros - worstMicros),
    isStrict: riskMicros === 0,
  }
}

/** The error that the client gets: a GatewayError as it is, everything else as `internal`. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (isUnavailableLedger(error)) {
    return new GatewayError(
      'internal',
      'The ledger could not record this request in time, so its answer was withheld. It may have been charged.',
      { cause: error },
    )
  }
  return new GatewayError(
    'internal',
    'The gateway failed on this request. Tell its operator the request id.',
    { cause: error },
  )
}

/** The request was already sent, so the client should not repeat it automatically. */
function isUnavailableLedger(error: unknown): boolean {
  if (error instanceof LedgerUnavailableError) return true
  return error instanceof Error && error.cause !== undefined && isUnavailableLedger(error.cause)
}

/** The client's error for a refused hold; an error that is not about the ledger stays as it is. */
export function holdRefused(error: unknown, wanted: Wanted): unknown {
  if (error instanceof LedgerUnavailableError) {
    const what = wanted.subject === 'This request' ? 'requests' : 'turns'
    return new GatewayError('overloaded', `The ledger cannot take new ${what} now. Try again soon.`, {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  if (error instanceof KeyBudgetExceededError) return overBudget(error, wanted)
  if (error instanceof BalanceInsufficientError) return insufficient(error, wanted)
  return error
}

/** The client's error for a running response that is cut; undefined when the cause is not a lack of money. */
export function cutReason(cause: unknown): GatewayError | undefined {
  const cut = 'The response was cut: what there is of it has used up'
  if (cause instanceof KeyBudgetExceededError)
    return new GatewayError('key_budget_exceeded', `${cut} the budget of the key.`, { cause })
  if (cause instanceof BalanceInsufficientError)
    return new GatewayError('balance_insufficient', `${cut} the money of the account. Top up.`, { cause })
  return undefined
}

function overBudget(error: KeyBudgetExceededError, { subject, waysToFit }: Wanted): GatewayError {
  const { worstMicros, riskMicros, budget } = error
  const { maxTokens, advice } = waysToFit({
    likelyMicros: Math.max(0, budget.availableMicros),
    worstMicros: Math.max(0, budget.budgetMicros - budget.spentMicros - budget.worstMicros + riskMicros),
    isStrict: riskMicros === 0,
  })
  const likely = formatRoubles(error.likelyMicros)
  const worst = formatRoubles(worstMicros)
  const available = formatRoubles(budget.availableMicros)
  const reset =
    budget.resetsAt === undefined ? '' : ` It starts anew at ${new Date(budget.resetsAt).toISOString()}.`
  return new GatewayError(
    'key_budget_exceeded',
    `${subject} likely costs ${likely} roubles and ${worst} at worst, and the key's budget has ${available} left.${reset}${advice}`,
    { cause: error, details: { likely, worst, available, ...cap(maxTokens) } },
  )
}

function insufficient(error: BalanceInsufficientError, { subject, waysToFit }: Wanted): GatewayError {
  const { balance } = error
  const { maxTokens, advice } = waysToFit(roomOf(balance))
  const likely = formatRoubles(error.likelyMicros)
  const worst = formatRoubles(error.worstMicros)
  const available = formatRoubles(balance.availableMicros)
  const risk = formatRoubles(balance.riskMicros)
  const debt = formatRoubles(balance.debtMicros)
  const owed = balance.debtMicros > 0 ? ` The account owes ${debt}, which the next top-up pays first.` : ''
  return new GatewayError(
    'balance_insufficient',
    `${subject} likely costs ${likely} roubles and ${worst} at worst; ${available} are available, with a risk of ${risk}.${owed} Top up.${advice}`,
    { cause: error, details: { likely, worst, available, risk, debt, ...cap(maxTokens) } },
  )
}

function cap(maxTokens: number | undefined): { readonly max_tokens?: number } {
  return maxTokens === undefined ? {} : { max_tokens: maxTokens }
}
