import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { Route } from '../routes/route.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CacheTerm, NamedObject } from '../money/usage.ts'
import { objectNotFound } from './object-owner.ts'

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
