import type { ChargeReport } from '../ledger/reports.ts'
import { shownProvider } from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { isId } from '../platform/new-id.ts'
import { zonedParse } from '../platform/clock.ts'
import type { OwnRequest } from './own-endpoint.ts'

const pageMax = 1000
const pageDefault = 100

/**
 * The charges made with this key, oldest first: `{charges: [...], next}`. `limit` is the page's length,
 * `after` where to go on (`next` of the page before), `since` an ISO date or time. Where charges are rare a page may
 * be short, or empty, and yet have a `next`.
 * @throws GatewayError request_invalid
 */
export async function listCharges(
  { config, reports, key }: OwnRequest,
  query: URLSearchParams,
): Promise<unknown> {
  const limit = readLimit(query.get('limit'))
  const after = readPlace(query.get('after'))
  const since = readTime(query.get('since'), config.timeZone)
  const page = await reports.chargesPage(
    key.accountId,
    { keyId: key.id, ...(after !== undefined && { after }), ...(since !== undefined && { since }) },
    limit,
  )
  return { charges: page.charges.map(charge => shownCharge(config, charge)), next: page.next ?? null }
}

/**
 * The charge of one exchange: final as soon as the answer has ended.
 * @throws GatewayError object_not_found for an exchange of another key, or one that cost nothing
 */
export async function showCharge({ config, reports, key }: OwnRequest, requestId: string): Promise<unknown> {
  for await (const charge of reports.charges(key.accountId, { keyId: key.id, exchangeId: requestId }))
    return shownCharge(config, charge)
  throw new GatewayError('object_not_found', `No charge of this key has the request id "${requestId}".`)
}

/** Without the name of a provider that is not public, and without the id by which that knows the request. */
function shownCharge(
  config: OwnRequest['config'],
  { provider, providerRequestId, ...charge }: ChargeReport,
): Partial<ChargeReport> {
  if (shownProvider(config, provider) === undefined) return charge
  return { ...charge, provider, ...(providerRequestId !== undefined && { providerRequestId }) }
}

function readLimit(text: string | null): number {
  if (text === null) return pageDefault
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= pageMax) return limit
  throw new GatewayError('request_invalid', `limit is a whole number from 1 to ${pageMax}.`, {
    param: 'limit',
  })
}

function readPlace(text: string | null): string | undefined {
  if (text === null) return undefined
  const [id = '', sequence = '0', ...more] = text.split('.', 3)
  if (isId(id) && /^\d{1,9}$/.test(sequence) && more.length === 0) return text
  throw new GatewayError(
    'request_invalid',
    'after is where to go on: next of the page before, or the request id of a charge.',
    {
      param: 'after',
    },
  )
}

function readTime(text: string | null, zone: string): number | undefined {
  if (text === null) return undefined
  const time = zonedParse(text, zone)
  if (!Number.isNaN(time)) return time
  throw new GatewayError('request_invalid', 'since is a date or time such as 2027-01-31T12:00:00Z.', {
    param: 'since',
  })
}
