import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { Route } from '../routes/route.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { objectNotFound } from './object-owner.ts'

/**
 * What a request that goes on from an earlier job takes from it: the model, and how much of what it makes.
 * @throws GatewayError object_not_found for a job of another account and for an unknown one alike
 */
export async function factsOfSource(
  { config, ledger }: { readonly config: Config; readonly ledger: Ledger },
  accountId: string | undefined,
  { match, providerName }: Route,
  facts: RequestFacts,
): Promise<RequestFacts> {
  const { operation, object } = match
  if (operation.modelIn !== 'job' || object === undefined) return facts
  const names = providerName === undefined ? [...config.providers.keys()] : [providerName]
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
