import { AccountError } from '../accounts/accounts.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { ErrorRow, GatewayErrorOptions } from '../pipeline/errors.ts'
import type { KeyBudget } from '../ledger/key-spending.ts'
import type { Balance } from '../ledger/ledger.ts'
import {
  BalanceInsufficientError,
  HoldResolvedError,
  KeyBudgetExceededError,
  LedgerUnavailableError,
} from '../ledger/ledger.ts'

/** An error on its way to another process: its kind, and what its kind is made of. */
export type ErrorMessage =
  | readonly ['balance', number, number, Balance]
  | readonly ['budget', number, number, KeyBudget, number]
  | readonly ['resolved', { readonly exchangeId: string; readonly sequence: number }, string]
  | readonly ['unavailable', string]
  | readonly ['account', string, string]
  | readonly [
      'gateway',
      { readonly code: string; readonly row: ErrorRow },
      string,
      Omit<GatewayErrorOptions, 'cause'>,
    ]
  | readonly ['range', string]
  | readonly ['other', string, string]

/** Takes an error apart; what callers act by is kept, where it was thrown is not. */
export function errorMessage(error: unknown): ErrorMessage {
  if (error instanceof BalanceInsufficientError)
    return ['balance', error.likelyMicros, error.worstMicros, error.balance]
  if (error instanceof KeyBudgetExceededError)
    return ['budget', error.likelyMicros, error.worstMicros, error.budget, error.riskMicros]
  if (error instanceof HoldResolvedError) return ['resolved', error.hold, error.state]
  if (error instanceof LedgerUnavailableError) return ['unavailable', error.message]
  if (error instanceof AccountError) return ['account', error.code, error.message]
  if (error instanceof GatewayError) {
    const { code, row, message, param, details, retryAfterSeconds } = error
    return [
      'gateway',
      { code, row },
      message,
      {
        ...(param !== undefined && { param }),
        ...(details !== undefined && { details }),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      },
    ]
  }
  if (error instanceof RangeError) return ['range', error.message]
  return error instanceof Error ? ['other', error.name, error.message] : ['other', 'Error', String(error)]
}

/** The error again, of the same class. */
export function errorOf(message: ErrorMessage): Error {
  switch (message[0]) {
    case 'balance':
      return new BalanceInsufficientError(message[1], message[2], message[3])
    case 'budget':
      return new KeyBudgetExceededError(message[1], message[2], message[3], message[4])
    case 'resolved':
      return new HoldResolvedError(message[1], message[2])
    case 'unavailable':
      return new LedgerUnavailableError(message[1])
    case 'account':
      return new AccountError(message[1], message[2])
    case 'gateway':
      return new GatewayError(message[1], message[2], message[3])
    case 'range':
      return new RangeError(message[1])
    case 'other':
      return Object.assign(new Error(message[2]), { name: message[1] })
  }
}
