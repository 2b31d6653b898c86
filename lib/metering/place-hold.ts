import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { BalanceInsufficientError, KeyBudgetExceededError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Hold, Ledger, Micros } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { outputTokensThatFit, requestHold } from './request-hold.ts'

interface HoldContext {
  readonly config: Config
  readonly ledger: Ledger
}

/**
 * Sets aside what the exchange may come to cost.
 * @throws GatewayError balance_insufficient with what would fit, key_budget_exceeded, overloaded when the
 * ledger cannot write
 */
export function placeHold(exchange: Exchange, context: HoldContext): Hold | Promise<Hold> {
  const { config, ledger } = context
  const key = exchange.get('key')
  const amountMicros = requestHold(exchange.get('target'), exchange.get('request'), config.hold)
  try {
    const hold = ledger.placeHold({
      exchangeId: exchange.id,
      sequence: 0,
      accountId: key.accountId,
      keyId: key.id,
      likelyMicros: amountMicros,
      worstMicros: amountMicros,
      ...(key.budgetMicros === undefined
        ? {}
        : { budget: { budgetMicros: key.budgetMicros, period: key.budgetPeriod ?? 'total' } }),
    })
    if (!(hold instanceof Promise)) return hold
    return hold.catch((error: unknown) => refuse(error, exchange, config.hold))
  } catch (error) {
    return refuse(error, exchange, config.hold)
  }
}

/** Says no in the words of a gateway. */
function refuse(error: unknown, exchange: Exchange, holdConfig: Config['hold']): never {
  if (error instanceof LedgerUnavailableError) {
    throw new GatewayError('overloaded', 'The ledger cannot take new requests now. Try again soon.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  if (error instanceof KeyBudgetExceededError) throw overBudget(error, exchange, holdConfig)
  if (error instanceof BalanceInsufficientError) throw insufficient(error, exchange, holdConfig)
  throw error
}

function overBudget(
  error: KeyBudgetExceededError,
  exchange: Exchange,
  holdConfig: Config['hold'],
): GatewayError {
  const { budget } = error
  const required = formatRoubles(error.likelyMicros)
  const available = formatRoubles(budget.availableMicros)
  const reset =
    budget.resetsAt === undefined ? '' : ` It starts anew at ${new Date(budget.resetsAt).toISOString()}.`
  return new GatewayError(
    'key_budget_exceeded',
    `This request may cost up to ${required} roubles and the key's budget has ${available} left.${reset}`,
    {
      cause: error,
      details: {
        required,
        available,
        max_tokens: fittingTokens(exchange, holdConfig, budget.availableMicros),
      },
    },
  )
}

function fittingTokens(exchange: Exchange, holdConfig: Config['hold'], availableMicros: Micros): number {
  return outputTokensThatFit(exchange.get('target'), exchange.get('request'), holdConfig, availableMicros)
}

function insufficient(
  error: BalanceInsufficientError,
  exchange: Exchange,
  holdConfig: Config['hold'],
): GatewayError {
  const required = formatRoubles(error.likelyMicros)
  const available = formatRoubles(error.balance.availableMicros)
  const fits = fittingTokens(exchange, holdConfig, error.balance.availableMicros)
  return new GatewayError(
    'balance_insufficient',
    `This request may cost up to ${required} roubles and ${available} are available. Top up` +
      (fits > 0 ? `, or ask for at most ${fits} output tokens.` : '.'),
    { cause: error, details: { required, available, max_tokens: fits } },
  )
}
