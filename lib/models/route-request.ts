import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Route, Target } from '../exchange-facts.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { priceInForce } from '../money/price.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../scan-request.ts'
import { factsOfCache } from './cache-source.ts'
import { isPriced } from './is-priced.ts'
import { factsOfSource } from './job-source.ts'
import { keptContext } from './kept-context.ts'
import type { ModelDirectory, ResolvedModel } from './model-directory.ts'
import { planBatch, type BatchPlan } from './plan-batch.ts'
import { requestedModel } from './requested-model.ts'
import { routeProvider, type ProviderRoute } from './route-provider.ts'
import { spliceRequest } from './splice-request.ts'
import { termFromNow } from './term-from-now.ts'

interface RoutingContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly directory: ModelDirectory
}

/** What a request is and where it goes. */
interface RoutedRequest {
  readonly request: RequestFacts
  readonly target: Target
}

/**
 * Decides on a request's model, price, provider and the bytes to send.
 * @throws GatewayError body_invalid, field_ambiguous, model_not_found, model_not_allowed, object_not_found,
 * not_supported and the like
 */
export async function routeRequest(
  context: RoutingContext,
  exchange: Exchange,
  route: Route,
  scanned: ScannedRequest,
): Promise<RoutedRequest> {
  const { config, directory } = context
  if (config.isolation === 'strict') refuseUnknownObjects(route, exchange)
  const accountId = exchange.find('key')?.accountId
  // Most requests name nothing that would have to be looked up, and wait for nothing here.
  const { modelIn, isBatch } = route.match.operation
  const isOfObject = modelIn === 'cache' || modelIn === 'job'
  const asked = termFromNow(scanned.facts, exchange.startedAt)
  const facts = isOfObject ? await factsOfObject(context, accountId, route, asked) : asked
  const model = requestedModel(exchange, route, facts, directory)
  const price = priceOf(route, model, exchange.startedAt, config.unmetered)
  const plan =
    isBatch === true || facts.batch !== undefined ? await planOf(context, exchange, route, facts) : undefined
  const found = plan ?? routeProvider(context, exchange, route, facts, model)
  const place: ProviderRoute = found instanceof Promise ? await found : found
  const { providers, isPinned, object, inBody } = place
  const targetAt = (index: number): Target | undefined => {
    const chosen = providers[index]
    if (chosen === undefined) return undefined
    return {
      ...chosen,
      dialectName: route.dialect.name,
      model: model?.entry,
      modelName: model?.canonicalName ?? '',
      upstreamModelName: model?.upstreamName ?? '',
      // Of the model, whoever serves it: the hold is right for every provider that may come to.
      price,
      ...plan?.model,
      ...spliceRequest(route, scanned, model?.upstreamName, chosen.provider),
      isPinned,
      ...(object !== undefined && { object }),
      ...(index + 1 < providers.length && { next: () => targetAt(index + 1) }),
    }
  }
  const target = targetAt(0) as Target
  if (price === undefined || inBody === undefined) return { request: facts, target }
  return { request: { ...facts, context: await keptContext(context.ledger, inBody) }, target }
}

/** What a request goes on from tells its model. */
function factsOfObject(
  context: RoutingContext,
  accountId: string | undefined,
  route: Route,
  facts: RequestFacts,
): Promise<RequestFacts> {
  const isCache = route.match.operation.modelIn === 'cache'
  return (isCache ? factsOfCache : factsOfSource)(context, accountId, route, facts)
}

/** A batch has no model of its own: those of its requests decide. */
async function planOf(
  context: RoutingContext,
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
): Promise<BatchPlan> {
  if (facts.batch !== undefined) return planBatch(context, exchange, route, facts)
  throw new GatewayError('body_invalid', 'A batch must be sent as JSON, with content-type: application/json.')
}

/**
 * An operation we do not know may name objects of other accounts, or of the operator. Only new work can be
 * asked for that way, unless the gateway has a single tenant.
 */
function refuseUnknownObjects({ match, dialect }: Route, exchange: Exchange): void {
  if (match.operation !== dialect.generic || exchange.request.method === 'POST') return
  throw new GatewayError(
    'not_supported',
    `${exchange.request.method} on a path that the gateway does not know is not forwarded: with "isolation: strict" nobody may read what others made.`,
  )
}

/** @throws GatewayError model_not_found for a model without a price for what the operation consumes */
function priceOf(
  { match: { operation } }: Route,
  model: ResolvedModel | undefined,
  startedAt: number,
  isUnmetered: boolean,
): Target['price'] {
  if (operation.isFree || model === undefined || isUnmetered) return undefined
  const price = priceInForce(model.entry.prices, startedAt)
  if (price !== undefined && isPriced(price, operation.mainMeter)) return price
  throw new GatewayError(
    'model_not_found',
    `The model "${model.canonicalName}" has no price for ${operation.name} here, so it is not served.`,
    { param: 'model' },
  )
}
