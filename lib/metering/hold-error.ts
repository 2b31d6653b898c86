import { GatewayError } from '../pipeline/errors.ts'
import { BalanceInsufficientError, KeyBudgetExceededError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Micros } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'

/** Why a turn of a session cannot be held for, as its client is told. */
export function holdError(error: unknown): Error {
  if (error instanceof LedgerUnavailableError) {
    return new GatewayError('overloaded', 'The ledger cannot take new turns now. Try again soon.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  if (error instanceof KeyBudgetExceededError) {
    return wanting('key_budget_exceeded', "the key's budget has", error, error.budget.availableMicros)
  }
  if (error instanceof BalanceInsufficientError) {
    return wanting('balance_insufficient', 'the account has', error, error.balance.availableMicros)
  }
  return error instanceof Error ? error : new Error(String(error))
}

function wanting(
  code: 'key_budget_exceeded' | 'balance_insufficient',
  whose: string,
  cause: BalanceInsufficientError | KeyBudgetExceededError,
  availableMicros: Micros,
): GatewayError {
  const likely = formatRoubles(cause.likelyMicros)
  const worst = formatRoubles(cause.worstMicros)
  const available = formatRoubles(availableMicros)
  return new GatewayError(
    code,
    `The next turn likely costs ${likely} roubles and ${worst} at worst, and ${whose} ${available}. Top up, or cap its output.`,
    { cause, details: { likely, worst, available } },
  )
}
