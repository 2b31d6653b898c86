import { GatewayError } from '../pipeline/errors.ts'
import type { LocalAnswer } from '../pipeline/exchange.ts'
import { listCharges, showCharge } from './charges.ts'
import { showKey } from './key.ts'
import type { OwnRequest } from './own-endpoint.ts'
import type { OwnEndpoint } from '../routes/match-own.ts'
import { quote } from './quote.ts'
import { balanceAmounts } from '../ledger/balance-amounts.ts'

/**
 * Answers one of the gateway's own endpoints.
 * @throws GatewayError key_missing without the auth plugin, and what the endpoint throws
 */
export async function answerOwn(
  endpoint: OwnEndpoint,
  request: Omit<OwnRequest, 'key'>,
): Promise<LocalAnswer> {
  const key = request.exchange.find('key')
  if (key === undefined)
    throw new GatewayError('key_missing', 'This gateway runs without keys, so it has no accounts.')
  const value = await show(endpoint, { ...request, key })
  return {
    status: 200,
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify(value)),
  }
}

function show(endpoint: OwnEndpoint, request: OwnRequest): Promise<unknown> {
  switch (endpoint.name) {
    case 'balance':
      return showBalance(request)
    case 'key':
      return showKey(request)
    case 'charges':
      return listCharges(request, endpoint.query)
    case 'charge':
      return showCharge(request, endpoint.id ?? '')
    case 'quote':
      return quote(request, endpoint.query)
  }
}

/** The account's money in roubles: `{balance, debt, held, available, worst, risk, paid}`. */
async function showBalance({ ledger, key }: OwnRequest): Promise<unknown> {
  return balanceAmounts(await ledger.balance(key.accountId))
}
