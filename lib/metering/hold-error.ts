import { GatewayError } from '../errors.ts'
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
    const { likelyMicros, budget } = error
    return wanting('key_budget_exceeded', "the key's budget has", likelyMicros, budget.availableMicros, error)
  }
  if (error instanceof BalanceInsufficientError) {
    const { likelyMicros, balance } = error
    return wanting('balance_insufficient', 'the account has', likelyMicros, balance.availableMicros, error)
  }
  return error instanceof Error ? error : new Error(String(error))
}

function wanting(
  code: 'key_budget_exceeded' | 'balance_insufficient',
  whose: string,
  requiredMicros: Micros,
  availableMicros: Micros,
  cause: Error,
): GatewayError {
  const required = formatRoubles(requiredMicros)
  const available = formatRoubles(availableMicros)
  return new GatewayError(
    code,
    `The next turn may cost up to ${required} roubles and ${whose} ${available}. Top up.`,
    {
      cause,
      details: { required, available },
    },
  )
}
