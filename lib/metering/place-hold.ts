import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { BalanceInsufficientError, LedgerUnavailableError, type Hold, type Ledger } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { outputTokensThatFit, requestHold } from './request-hold.ts'

/**
 * Sets aside what the exchange may come to cost.
 * @throws GatewayError balance_insufficient with what would fit, overloaded when the ledger cannot write
 */
export async function placeHold(
  exchange: Exchange,
  ledger: Ledger,
  holdConfig: Config['hold'],
): Promise<Hold> {
  const key = exchange.get('key')
  const amountMicros = requestHold(exchange.get('target'), exchange.get('request'), holdConfig)
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
    if (error instanceof BalanceInsufficientError) throw insufficient(error, exchange, holdConfig)
    throw error
  }
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
