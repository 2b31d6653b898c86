import { GatewayError } from '../errors.ts'
import type { ChargeReport, ChargesFilter } from '../ledger/reports.ts'
import { isId } from '../new-id.ts'
import type { OwnRequest } from './own-endpoint.ts'

const pageMax = 1000
const pageDefault = 100

/**
 * The charges made with this key, oldest first: `{charges: [...], next}`. `limit` is the page's length,
 * `after` the request id to go on from (`next` of the page before), `since` an ISO date or time.
 * @throws GatewayError request_invalid
 */
export async function listCharges({ reports, key }: OwnRequest, query: URLSearchParams): Promise<unknown> {
  const limit = readLimit(query.get('limit'))
  const after = readId(query.get('after'))
  const since = readTime(query.get('since'))
  const filter: ChargesFilter = {
    keyId: key.id,
    ...(after !== undefined && { after }),
    ...(since !== undefined && { since }),
  }
  const charges: ChargeReport[] = []
  for await (const charge of reports.charges(key.accountId, filter)) {
    if (charges.length === limit) return { charges, next: charges.at(-1)?.requestId ?? null }
    charges.push(charge)
  }
  return { charges, next: null }
}

/**
 * The charge of one exchange: final as soon as the answer has ended.
 * @throws GatewayError object_not_found for an exchange of another key, or one that cost nothing
 */
export async function showCharge({ reports, key }: OwnRequest, requestId: string): Promise<unknown> {
  for await (const charge of reports.charges(key.accountId, { keyId: key.id, exchangeId: requestId }))
    return charge
  throw new GatewayError('object_not_found', `No charge of this key has the request id "${requestId}".`)
}

function readLimit(text: string | null): number {
  if (text === null) return pageDefault
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= pageMax) return limit
  throw new GatewayError('request_invalid', `limit is a whole number from 1 to ${pageMax}.`, {
    param: 'limit',
  })
}

function readId(text: string | null): string | undefined {
  if (text === null) return undefined
  if (isId(text)) return text
  throw new GatewayError(
    'request_invalid',
    'after is the request id to go on from: next of the page before.',
    {
      param: 'after',
    },
  )
}

function readTime(text: string | null): number | undefined {
  if (text === null) return undefined
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new GatewayError('request_invalid', 'since is a date or time such as 2027-01-31T12:00:00Z.', {
    param: 'since',
  })
}
