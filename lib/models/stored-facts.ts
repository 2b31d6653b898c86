import type { Config } from '../config/config.ts'
import type { RequestFacts, Operation } from '../dialects/dialect.ts'
import type { Route } from '../routes/route.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CacheTerm, NamedObject } from '../money/usage.ts'
import { objectNotFound } from './object-owner.ts'
import { StreamedBody } from '../bodies/streamed-body.ts'
import type { ProviderObject } from '../ledger/object-ledger.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../routes/scan-request.ts'

/** More often nobody changes the term of one cached content. */
const termsMax = 10_000

/**
 * What a request for another term of a cached content takes from it: the model, how many tokens are kept,
 * and until when that is paid.
 * @throws GatewayError object_not_found for another account's and for an unknown one alike
 */
export async function factsOfCache(
  { config, ledger }: { readonly config: Config; readonly ledger: Ledger },
  accountId: string | undefined,
  { match, providerName }: Route,
  facts: RequestFacts,
): Promise<RequestFacts> {
  const { operation, object } = match
  if (operation.modelIn !== 'cache' || object === undefined) return facts
  const names = providerName === undefined ? [...config.providers.keys()] : [providerName]
  const known = await Promise.all(
    names.map(async name => {
      const own = await ledger.findObject(name, object.kind, object.id)
      return own?.accountId === accountId ? lastTerm(ledger, name, object) : undefined
    }),
  )
  const cacheTerm = known.find(term => term !== undefined)
  if (cacheTerm !== undefined) {
    const cacheStorage = (facts.units?.cacheStorage ?? 0) * cacheTerm.tokens
    return { ...facts, model: cacheTerm.model, cacheTerm, units: { cacheStorage } }
  }
  if (config.isolation === 'strict') throw objectNotFound(object)
  return facts
}

/** Terms follow each other without a gap; there are few. */
async function lastTerm(
  ledger: Ledger,
  provider: string,
  { id }: NamedObject,
): Promise<CacheTerm | undefined> {
  let last: CacheTerm | undefined
  for (let index = 0; index < termsMax; index += 1) {
    const found = await ledger.findObject(provider, 'cacheTerm', `${id}#${index}`)
    if (found?.facts?.cacheTerm === undefined) break
    last = found.facts.cacheTerm
  }
  return last
}

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
