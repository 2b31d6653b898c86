import type { KeyRecord } from '../accounts/accounts.ts'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { KeyBudget } from '../ledger/key-spending.ts'
import { BalanceInsufficientError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Hold, Ledger, Micros } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { outputTokensThatFit, requestHold } from './request-hold.ts'

export interface HoldContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly keyBudget: (key: KeyRecord) => KeyBudget | undefined
}

/**
 * Sets aside what the exchange may come to cost.
 * @throws GatewayError balance_insufficient with what would fit, key_budget_exceeded, overloaded when the
 * ledger cannot write
 */
export async function placeHold(exchange: Exchange, context: HoldContext): Promise<Hold> {
  const { config, ledger } = context
  const key = exchange.get('key')
  const amountMicros = requestHold(exchange.get('target'), exchange.get('request'), config.hold)
  const budget = context.keyBudget(key)
  if (budget !== undefined && amountMicros > budget.availableMicros) throw overBudget(amountMicros, budget)
  try {
    return await ledger.placeHold({
      exchangeId: exchange.id,
      sequence: 0,
      accountId: key.accountId,
      keyId: key.id,
      amountMicros,
    })
  } catch (error) {
    if (error instanceof LedgerUnavailableError) {
      throw new GatewayError('overloaded', 'The ledger cannot take new requests now. Try again soon.', {
        cause: error,
        retryAfterSeconds: 1,
      })
    }
    if (error instanceof BalanceInsufficientError) throw insufficient(error, exchange, config.hold)
    throw error
  }
}

function overBudget(requiredMicros: Micros, budget: KeyBudget): GatewayError {
  const required = formatRoubles(requiredMicros)
  const available = formatRoubles(budget.availableMicros)
  const reset =
    budget.resetsAt === undefined ? '' : ` It starts anew at ${new Date(budget.resetsAt).toISOString()}.`
  return new GatewayError(
    'key_budget_exceeded',
    `This request may cost up to ${required} roubles and the key's budget has ${available} left.${reset}`,
    { details: { required, available } },
  )
}

function insufficient(
  error: BalanceInsufficientError,
  exchange: Exchange,
  holdConfig: Config['hold'],
): GatewayError {
  const required = formatRoubles(error.requiredMicros)
  const available = formatRoubles(error.availableMicros)
  const fits = outputTokensThatFit(
    exchange.get('target'),
    exchange.get('request'),
    holdConfig,
    error.availableMicros,
  )
  return new GatewayError(
    'balance_insufficient',
    `This request may cost up to ${required} roubles and ${available} are available. Top up` +
      (fits > 0 ? `, or ask for at most ${fits} output tokens.` : '.'),
    { cause: error, details: { required, available, max_tokens: fits } },
  )
}
