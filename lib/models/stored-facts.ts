import type { Config } from '../config/config.ts'
import type { RequestFacts, Operation } from '../dialects/dialect.ts'
import type { Route } from '../routes/route.ts'
import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import type { CacheTerm, NamedObject } from '../money/usage.ts'
import { objectNotFound } from './object-owner.ts'
import { StreamedBody } from '../bodies/client-stream.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../routes/receive-request.ts'

/** The objects from which a request continues, and the places to look for them. */
interface NamedSource {
  readonly config: Config
  readonly ledger: Ledger
  readonly accountId: string | undefined
  readonly object: NamedObject
  /** The names of the providers that may have it. */
  readonly names: readonly string[]
}

/**
 * The facts of a request whose model is that of the job or the cached content that its path names.
 * @throws GatewayError object_not_found for another account's object and for an unknown one alike
 */
export async function factsOfObject(
  { config, ledger }: { readonly config: Config; readonly ledger: Ledger },
  accountId: string | undefined,
  { match, providerName }: Route,
  facts: RequestFacts,
): Promise<RequestFacts> {
  const { operation, object } = match
  if (object === undefined) return facts
  const names = providerName === undefined ? [...config.providers.keys()] : [providerName]
  const source = { config, ledger, accountId, object, names }
  return operation.modelIn === 'cache' ? factsOfCache(facts, source) : factsOfJob(facts, source)
}

/** No client changes the term of one cached content more often. */
const termsMax = 10_000

/**
 * The facts that a request for another term takes from its cached content: the model, the number of stored tokens, and
 * the end of the paid term.
 */
async function factsOfCache(
  facts: RequestFacts,
  { config, ledger, accountId, object, names }: NamedSource,
): Promise<RequestFacts> {
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
 * The facts of a request that adds files to a store: their units by their bytes, as measured when they were uploaded,
 * or as the upload into the store announces them.
 * @throws GatewayError body_invalid for an upload of unknown size
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

/** The facts that a request takes from the earlier job that it continues: the model, and the units of what it makes. */
async function factsOfJob(
  facts: RequestFacts,
  { config, ledger, accountId, object, names }: NamedSource,
): Promise<RequestFacts> {
  const jobs = await Promise.all(names.map(provider => ledger.findJob({ ...object, provider })))
  const own = jobs.find(job => job?.accountId === accountId)
  const source = own ?? (config.isolation === 'off' ? jobs.find(job => job !== undefined) : undefined)
  if (source === undefined) throw objectNotFound(object)
  const { units, variant } = source.facts
  return {
    ...facts,
    model: source.model,
    ...(units !== undefined && { units }),
    ...(variant !== undefined && { unitsVariant: variant }),
  }
}

const hourMs = 3_600_000

/** The facts of a request that stores something until a moment, for the hours from now until then. */
export function termFromNow(facts: RequestFacts, now: number): RequestFacts {
  const { keptUntil, keptHours, units } = facts
  if (keptUntil === undefined) return facts
  const hours = Math.max(0, keptUntil - now) / hourMs
  return {
    ...facts,
    ...(keptHours !== undefined && { keptHours: keptHours * hours }),
    units: { ...units, cacheStorage: (units?.cacheStorage ?? 0) * hours },
  }
}

/** Vertex reads a tier from headers: https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo. */
const tierHeaders = ['x-vertex-ai-llm-shared-request-type', 'x-vertex-ai-llm-request-type']

/** Adds the tier that its headers request to a request in Google's format. */
export function withTierOfHeaders({ request: { headers } }: Exchange, facts: RequestFacts): RequestFacts {
  const isPriority = tierHeaders.some(name => /priority/i.test(String(headers[name] ?? '')))
  return isPriority ? { ...facts, wantedTier: 'priority' } : facts
}
