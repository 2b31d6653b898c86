import type { Operation, RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import {
  type Target,
  kindsAfter,
  type ChosenProvider,
  type BatchContext,
  type BatchPlan,
  type PlanBatch,
} from './choose-provider.ts'
import type { Route } from '../routes/route.ts'
import { priceInForce, isPriced } from '../money/price.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ScannedRequest } from '../routes/receive-request.ts'
import { factsOfObject, factsOfStored, termFromNow, withTierOfHeaders } from './stored-facts.ts'
import { withPromptTools, routeProvider, type ProviderRoute } from './route-provider.ts'
import { isContextUnknown, keptContext } from './kept-context.ts'
import type { ResolvedModel } from './model-directory.ts'
import { requestedModel, priceNamedModels, type NamedPrice } from './requested-model.ts'
import { requirePriced } from './require-priced.ts'
import type { ProviderConfig } from '../config/config.ts'
import { filesRead } from './object-owner.ts'
import { outgoingBody, jsonStringBytes, type Splice } from '../bodies/outgoing-body.ts'
import { StreamedBody } from '../bodies/client-stream.ts'

/** The context for routing a request. */
export interface RoutingContext extends BatchContext {
  readonly planBatch: PlanBatch
}

/** A request with its facts and its route. */
interface RoutedRequest {
  readonly request: RequestFacts
  readonly target: Target
}

/** A request whose model is known, and whose provider is not chosen yet. */
interface ModeledRequest {
  readonly exchange: Exchange
  readonly route: Route
  readonly scanned: ScannedRequest
  readonly facts: RequestFacts
  /** Undefined for operations that need none. */
  readonly model: ResolvedModel | undefined
  /** The model's price, whichever provider serves it: the hold is valid for every possible provider. */
  readonly price: Target['price']
  /** The prices of the models that the request names beside it. */
  readonly named: readonly NamedPrice[]
}

/**
 * Decides on a request's model, price, provider and the bytes to send.
 * @returns a promise for requests that need a look-up; most are decided at once
 * @throws GatewayError body_invalid, field_ambiguous, model_not_found, model_not_allowed, object_not_found,
 * not_supported and others
 */
export function routeRequest(
  context: RoutingContext,
  exchange: Exchange,
  route: Route,
  scanned: ScannedRequest,
): RoutedRequest | Promise<RoutedRequest> {
  const isUnknown = route.match.operation === route.dialect.generic
  if (isUnknown && context.config.isolation === 'strict') refuseUnknownObjects(exchange)
  const isKept = scanned.facts.keptUntil !== undefined
  const said = isKept ? termFromNow(scanned.facts, exchange.startedAt) : scanned.facts
  const facts = route.dialect.name === 'google' ? withTierOfHeaders(exchange, said) : said
  if (goesOnFromObject(route) || isOfBatch(route, facts))
    return routeLookedUp(context, exchange, route, { ...scanned, facts })
  const request = modeled(context, exchange, route, scanned, facts)
  const place = routeProvider(context, exchange, route, facts, request.model)
  return place instanceof Promise
    ? place.then(found => routeInContext(context, request, found))
    : { request: facts, target: targetAt(request, place) }
}

/** Routes by the ledger's record of the object from which a request continues, or of the objects of a batch. */
async function routeLookedUp(
  context: RoutingContext,
  exchange: Exchange,
  route: Route,
  scanned: ScannedRequest,
): Promise<RoutedRequest> {
  const accountId = exchange.find('key')?.accountId
  const facts = goesOnFromObject(route)
    ? await factsOfObject(context, accountId, route, scanned.facts)
    : scanned.facts
  const request = modeled(context, exchange, route, scanned, facts)
  if (isOfBatch(route, facts)) {
    const plan = await planOf(context, exchange, route, facts)
    return { request: facts, target: targetAt(request, plan, plan.model) }
  }
  const place = await routeProvider(context, exchange, route, facts, request.model)
  return routeInContext(context, request, place)
}

function goesOnFromObject({ match }: Route): boolean {
  return match.operation.modelIn === 'cache' || match.operation.modelIn === 'job'
}

function isOfBatch({ match }: Route, facts: RequestFacts): boolean {
  return match.operation.isBatch === true || facts.batch !== undefined
}

function modeled(
  { config, directory }: RoutingContext,
  exchange: Exchange,
  route: Route,
  scanned: ScannedRequest,
  facts: RequestFacts,
): ModeledRequest {
  const model = requestedModel(exchange, route, facts, directory)
  const price = priceOf(route, model, exchange.startedAt, config.unmetered)
  const { namedModels, drawsWith } = facts
  const isAlone = namedModels === undefined && drawsWith === undefined
  const naming = { exchange, route, directory, isUnpriced: price === undefined }
  const drawingModels = drawsWith === undefined ? [] : [drawsWith]
  const named = isAlone ? [] : priceNamedModels(naming, { namedModels, drawingModels }, model)
  return { exchange, route, scanned, facts, model, price, named }
}

/** Adds the stored context of objects that the body names: it is billed with the request. */
async function routeInContext(
  { ledger, config }: RoutingContext,
  request: ModeledRequest,
  place: ProviderRoute,
): Promise<RoutedRequest> {
  const { price } = request
  const { operation } = request.route.match
  const { exchange, scanned } = request
  const known = withPromptTools(config, request.facts)
  const facts =
    price === undefined ? known : factsOfStored(operation, known, place.inBody ?? [], scanned.body, exchange)
  const target = targetAt({ ...request, facts }, place)
  const inTexts = filesRead(place.providers, facts.filesInText)
  if (price === undefined || (facts.objects.length === 0 && inTexts.length === 0))
    return { request: facts, target }
  const { inBody = [] } = place
  const unknown = inTexts.length > 0 || facts.objects.some(one => isContextUnknown(one, inBody))
  const context = await keptContext(ledger, inBody)
  return { request: { ...facts, context, ...(unknown && { readsUnknown: true }) }, target }
}

/** The first target to try, or a later one, each of which knows the next. */
function targetAt(
  request: ModeledRequest,
  place: ProviderRoute,
  ofBatch?: BatchPlan['model'],
  index = 0,
): Target {
  const { route, scanned, model, price, named } = request
  const { providers, isPinned, object } = place
  const { provider, credential, baseUrl } = providers[index] as ChosenProvider
  const isLast = index + 1 >= providers.length
  if (price !== undefined) requirePriced(request.facts, price, provider.kind, route.match.operation)
  const { upstreamPath, body, isBodyDecoded, isUsageInjected } = spliceRequest(
    route,
    scanned,
    model?.upstreamName,
    provider,
  )
  return {
    provider,
    credential,
    baseUrl,
    dialectName: route.dialect.name,
    model: model?.entry,
    modelName: model?.canonicalName ?? '',
    upstreamModelName: model?.upstreamName ?? '',
    price,
    ...ofBatch,
    upstreamPath,
    body,
    isBodyDecoded,
    isUsageInjected,
    isPinned,
    object,
    named,
    otherKinds: isLast ? undefined : kindsAfter(providers, index),
    next: isLast ? undefined : () => laterTarget(request, place, ofBatch, index + 1),
  }
}

/** A tool that one provider runs may have no price at the next one, which is then skipped. */
function laterTarget(
  request: ModeledRequest,
  place: ProviderRoute,
  ofBatch: BatchPlan['model'] | undefined,
  index: number,
): Target | undefined {
  if (index >= place.providers.length) return undefined
  try {
    return targetAt(request, place, ofBatch, index)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return laterTarget(request, place, ofBatch, index + 1)
  }
}

/** A batch has no model of its own: the models of its requests decide. */
async function planOf(
  context: RoutingContext,
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
): Promise<BatchPlan> {
  if (facts.batch !== undefined) return context.planBatch(context, exchange, route, facts)
  throw new GatewayError('body_invalid', 'A batch must be sent as JSON, with content-type: application/json.')
}

/**
 * An unknown operation may name objects of other accounts, or of the operator. Only new work can be requested that way,
 * unless the gateway has a single tenant.
 */
function refuseUnknownObjects(exchange: Exchange): void {
  if (exchange.request.method === 'POST') return
  throw new GatewayError(
    'not_supported',
    `${exchange.request.method} on a path that the gateway does not know is not forwarded: "isolation: strict" keeps the objects of one account from the others.`,
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
  if (operation.modelIn === 'none') throw unpriced(operation, model)
  throw new GatewayError(
    'model_not_found',
    `The model "${model.canonicalName}" has no price for ${operation.name} here, so it is not served.`,
    { param: 'model' },
  )
}

/** The request names no model: this is the one by which the provider bills such work. */
function unpriced({ name, mainMeter }: Operation, { canonicalName }: ResolvedModel): GatewayError {
  return new GatewayError(
    'not_supported',
    `A ${name.replaceAll('-', ' ')} is charged as "${mainMeter}" of "${canonicalName}", which has no price here, so it is not served. The operator sets it: usdPerUnit or rubPerUnit, "${mainMeter}".`,
  )
}

type Sent = Pick<Target, 'body' | 'upstreamPath' | 'isBodyDecoded' | 'isUsageInjected'>

/**
 * The bytes to send. They are the client's, with two exceptions: the model's name if the provider knows it by another,
 * and `include_usage` for providers whose streams report usage only on request.
 */
function spliceRequest(
  route: Route,
  scanned: ScannedRequest,
  upstreamModel: string | undefined,
  provider: ProviderConfig,
): Sent {
  const { facts, body, content, isForm } = scanned
  const splices: Splice[] = []
  if (upstreamModel !== undefined && facts.modelSpan !== undefined && facts.model !== upstreamModel) {
    // In JSON the value is in quotes; in a form's field it is bare.
    const name = (facts.modelPrefix ?? '') + upstreamModel
    const bytes = isForm ? Buffer.from(name) : jsonStringBytes(name)
    splices.push({ ...facts.modelSpan, bytes })
  }
  const isUsageInjected = provider.streamUsage === 'inject' && facts.usageSplice !== undefined
  if (isUsageInjected && facts.usageSplice !== undefined)
    splices.push({ ...facts.usageSplice.span, bytes: facts.usageSplice.bytes })
  return {
    upstreamPath: splicePath(route, upstreamModel),
    body: bodyToSend(scanned, splices),
    isBodyDecoded: content !== body && splices.length > 0,
    isUsageInjected,
  }
}

function bodyToSend({ body, content }: ScannedRequest, splices: Splice[]): Target['body'] {
  if (body instanceof StreamedBody) return body
  if (body.length === 0) return undefined
  if (splices.length === 0) return body.bytes ?? outgoingBody(body, splices)
  splices.sort((one, other) => one.start - other.start)
  return outgoingBody(content, splices)
}

function splicePath(route: Route, upstreamModel: string | undefined): string {
  const { upstreamPath, pathModel, pathModelSpan } = route.match
  if (upstreamModel === undefined || pathModelSpan === undefined || pathModel === upstreamModel)
    return upstreamPath
  const encoded = upstreamModel.split('/').map(encodeURIComponent).join('/')
  return upstreamPath.slice(0, pathModelSpan.start) + encoded + upstreamPath.slice(pathModelSpan.end)
}
