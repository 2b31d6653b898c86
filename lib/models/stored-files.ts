import { StreamedBody } from '../bodies/streamed-body.ts'
import type { Operation, RequestFacts } from '../dialects/dialect.ts'
import type { ProviderObject } from '../ledger/object-ledger.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../routes/scan-request.ts'

/**
 * The facts of a request that puts files into a store: what they come to by their bytes, as they were measured when they
 * were uploaded, or as the upload into the store announces them.
 * @throws GatewayError body_invalid for an upload of which nobody could tell its size
 */
export function factsOfStored(
  { unitsOfFiles }: Operation,
  facts: RequestFacts,
  known: readonly ProviderObject[],
  body: ScannedRequest['body'],
  exchange: Exchange,
): RequestFacts {
  if (unitsOfFiles === undefined) return facts
  const ids = new Set(facts.objects.filter(({ kind }) => kind === 'file').map(({ id }) => id))
  const bytes = [...ids].map(id => known.find(one => one.kind === 'file' && one.id === id)?.facts?.bytes)
  if (body instanceof StreamedBody) bytes.push(announcedLength(body, exchange))
  return {
    ...facts,
    textBytes: 0,
    outputTokensCap: 0,
    units: unitsOfFiles(bytes, exchange.request.rawHeaders),
  }
}

function announcedLength({ length }: StreamedBody, { request: { headers } }: Exchange): number {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (length !== undefined && encoding.trim().toLowerCase() === 'identity') return length
  throw new GatewayError(
    'body_invalid',
    'What goes into a store is paid for by its size, so it must come with a content-length and without a content-encoding.',
    { param: length === undefined ? 'content-length' : 'content-encoding' },
  )
}
