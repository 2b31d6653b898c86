import { providerLabel } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { atOpenai } from '../dialects/operation-kinds.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from '../routes/route.ts'
import type { ProviderObject } from '../ledger/ledger.ts'
import { costOfShare, type CostedShare, eachRequest } from './cost-of-share.ts'
import { hasXaiBatches, madeByEach, requireAddable, requireXaiEndpoints } from './xai-batches.ts'
import { maxOf, sumOf, type ExchangeCost } from '../money/exchange-cost.ts'
import { toolsOf, type BatchFacts, type BatchShare } from '../money/batch-facts.ts'
import { priceInForce, type Price, isPriced } from '../money/price.ts'
import type { Meter, Meters } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import {
  chooseProviders,
  type BatchContext,
  type BatchPlan,
  type ChosenProvider,
} from '../models/choose-provider.ts'
import { keptContexts } from '../models/kept-context.ts'
import type { ResolvedModel } from '../models/model-directory.ts'
import { defaultProvider } from '../models/route-provider.ts'
import { filesRead, ownerOfObjects } from '../models/object-owner.ts'
import { namedModel, priceNamedModels, type NamedPrice } from '../models/requested-model.ts'

/** One share of a batch, its model found and priced. */
interface PricedShare {
  readonly share: BatchShare
  readonly model: ResolvedModel
  /** Undefined for a free endpoint. */
  readonly price: Price | undefined
  readonly mainMeter: Meter | undefined
  /** The prices of the models that its requests name beside it. */
  readonly named: readonly NamedPrice[]
}

/**
 * Resolves the models of all requests in a batch: each must be priced, allowed, and served by the one provider that
 * gets the batch, under exactly the name in the request, since nothing inside is replaced.
 * @throws GatewayError with the place of the first request that is refused
 */
export async function planBatch(
  context: BatchContext,
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
): Promise<BatchPlan> {
  const { batch = {} } = facts
  if (batch.isEmpty === true) return planEmpty(context, route)
  const { object } = route.match
  const named = object === undefined ? facts.objects : [object, ...facts.objects]
  const { chosen, objects } = await ownerOf(context, exchange, route, named)
  requireEndpoint(batch, chosen)
  const requests = batch.requests ?? requestsOfFile(objects, batch.file?.id)
  if (requests.problem !== undefined) throw badRequest(requests.problem.at, requests.problem.message)
  if (requests.requests === 0) throw new GatewayError('body_invalid', 'The batch has no requests.')
  const inTexts = filesRead(chosen === undefined ? [] : [chosen], requests.filesInText)
  const inside = await ownerOf(context, exchange, route, [...named, ...requests.objects, ...inTexts])
  if (batch.requestIds !== undefined) await requireAddable(context, chosen, object)
  const pinned = chosen ?? inside.chosen
  if (hasXaiBatches(pinned)) requireXaiEndpoints(requests.shares)
  const shares = requests.shares.map(share => priceShare(context, exchange, route, { share, batch }))
  const contexts = await keptContexts(context.ledger, inside.objects)
  const providers = commonProviders(context, route, shares, pinned)
  const model = modelOf(shares, contexts, context, new Set(providers.map(({ provider }) => provider.kind)))
  const made = hasXaiBatches(pinned) ? madeByEach(requests.shares) : {}
  return {
    providers,
    isPinned: pinned !== undefined,
    model: model.batch === undefined ? model : { ...model, batch: { ...model.batch, made } },
  }
}

/** A batch to which requests are added later has no model and costs nothing; only xAI has such batches. */
function planEmpty({ config }: BatchContext, route: Route): BatchPlan {
  const chosen = defaultProvider(config, route)
  if (!hasXaiBatches(chosen)) {
    throw new GatewayError(
      'body_invalid',
      'The request names no input_file_id. Upload the requests first: batches to which they are added later are of xAI alone.',
      { param: 'input_file_id' },
    )
  }
  const model = { model: undefined, modelName: '', upstreamModelName: '', price: undefined }
  return { providers: [chosen], isPinned: false, model }
}

/** xAI's batches name no endpoint, and each request may go to another one. */
function requireEndpoint(
  { isSaidByEach, endpoint }: NonNullable<RequestFacts['batch']>,
  chosen: ChosenProvider | undefined,
): void {
  if (isSaidByEach !== true || endpoint !== undefined || hasXaiBatches(chosen)) return
  throw new GatewayError('body_invalid', 'The batch names no endpoint.', { param: 'endpoint' })
}

async function ownerOf(
  context: BatchContext,
  exchange: Exchange,
  { dialect, providerName }: Route,
  referred: RequestFacts['objects'],
): ReturnType<typeof ownerOfObjects> {
  return ownerOfObjects(context, exchange.find('key')?.accountId, dialect.name, referred, providerName)
}

function requestsOfFile(objects: readonly ProviderObject[], id: string | undefined): BatchFacts {
  const batch = objects.find(object => object.kind === 'file' && object.id === id)?.facts?.batch
  if (batch !== undefined) return batch
  throw new GatewayError(
    'body_invalid',
    `The requests in the file ${id ?? ''} are not known here. Upload it through the gateway as a file of JSON lines whose name ends with .jsonl.`,
  )
}

function priceShare(
  { directory, config }: BatchContext,
  exchange: Exchange,
  route: Route,
  { share, batch }: { readonly share: BatchShare; readonly batch: NonNullable<RequestFacts['batch']> },
): PricedShare {
  const { firstAt, endpoint } = share
  if (batch.isSaidByEach === true && endpoint === '')
    throw badRequest(firstAt, 'It must be {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}.')
  if (batch.endpoint !== undefined && endpoint !== '' && endpoint !== batch.endpoint)
    throw badRequest(firstAt, `It goes to ${endpoint}, and the batch is for ${batch.endpoint}.`)
  const name = nameOf(share, route, batch.model)
  const model = at(firstAt, () => namedModel(exchange, route, name, directory))
  const isInside = share.model !== '*' || batch.model !== undefined
  if (isInside && model.upstreamName !== name) {
    throw badRequest(
      firstAt,
      `The model "${name}" is called "${model.upstreamName}" by its provider, and names inside a batch are not replaced. Name that.`,
    )
  }
  const naming = { exchange, route, directory, isUnpriced: config.unmetered || share.isFree === true }
  const named = priceNamedModels(naming, namedIn(share), model)
  if (share.isFree === true) return { share, model, price: undefined, named, mainMeter: undefined }
  const price = priceInForce(model.entry.prices, exchange.startedAt)
  const mainMeter = share.mainMeter ?? batch.mainMeter ?? route.match.operation.mainMeter
  if (price !== undefined && (config.unmetered || isPriced(price, mainMeter)))
    return { share, model, price, named, mainMeter }
  throw new GatewayError(
    'model_not_found',
    `${firstAt}: The model "${model.canonicalName}" has no price for batches here, so it is not served.`,
    { param: firstAt },
  )
}

function namedIn({ namedModels = {}, drawsWith = {} }: BatchShare): Parameters<typeof priceNamedModels>[1] {
  return {
    namedModels: Object.entries(namedModels).map(([name, { at: place }]) => ({ name, at: place })),
    drawingModels: Object.keys(drawsWith),
  }
}

/** The model of a share's requests: named by them, by the body beside the path, or by the path. */
function nameOf({ model, firstAt }: BatchShare, { match }: Route, beside: string | undefined): string {
  const path = match.pathModel
  const ofAll = path ?? beside
  if (ofAll === undefined) {
    if (model !== '*') return model
    throw badRequest(firstAt, 'It names no model.')
  }
  for (const named of [model, beside ?? '*']) {
    if (named === '*' || named.replace(/^models\//, '') === ofAll) continue
    const where = path === undefined ? 'the batch is for' : 'the path names'
    throw badRequest(firstAt, `It names the model "${named}", and ${where} "${ofAll}".`)
  }
  return ofAll
}

/** Providers that serve all models, in the first one's order; the only possible one if objects are named. */
function commonProviders(
  { config }: BatchContext,
  { dialect, providerName }: Route,
  shares: readonly PricedShare[],
  pinned: ChosenProvider | undefined,
): readonly ChosenProvider[] {
  let common: readonly ChosenProvider[] | undefined = pinned === undefined ? undefined : [pinned]
  for (const { share, model } of shares) {
    const served = at(share.firstAt, () => chooseProviders(config, model, dialect.name, providerName))
    const own = share.isFree === true ? requireFree(share, served, pinned) : served
    const names = new Set(own.map(({ provider }) => provider.name))
    const left: readonly ChosenProvider[] = common?.filter(({ provider }) => names.has(provider.name)) ?? own
    if (left.length === 0) {
      const others = common?.map(({ provider }) => providerLabel(provider)) ?? []
      throw badRequest(
        share.firstAt,
        `The model "${share.model}" is not served by ${[...new Set(others)].join(', ')}, where the rest of the batch goes.`,
      )
    }
    common = left
  }
  return common ?? []
}

/** Requests that are free at some providers and paid at others would go uncharged. */
function requireFree(
  { firstAt, endpoint }: BatchShare,
  served: readonly ChosenProvider[],
  pinned: ChosenProvider | undefined,
): readonly ChosenProvider[] {
  const free = served.filter(({ provider }) => atOpenai.has(provider.kind))
  if (free.length > 0 && (pinned === undefined || atOpenai.has(pinned.provider.kind))) return free
  throw new GatewayError(
    'not_supported',
    `${firstAt}: Requests to ${endpoint} are free at OpenAI alone. Where this batch goes they may be paid for, and have no price in a batch here, so it is not forwarded.`,
    { param: firstAt },
  )
}

function modelOf(
  shares: readonly PricedShare[],
  contexts: ReadonlyMap<string, Meters>,
  { config }: BatchContext,
  kinds: ReadonlySet<string>,
): BatchPlan['model'] {
  const [first] = shares
  if (first === undefined) throw new GatewayError('body_invalid', 'The batch has no requests.')
  const prices = new Map<string, Price>()
  const costed: CostedShare[] = []
  let cost: ExchangeCost = { likelyMicros: 0, worstMicros: 0, strictMicros: 0 }
  for (const { share, model, price, named, mainMeter } of shares) {
    if (share.units !== undefined && model.upstreamName !== first.model.upstreamName) {
      throw badRequest(
        share.firstAt,
        `It names the model "${share.model}" after "${first.share.model}", and the results of such requests do not say which model made them. Make a batch for each.`,
      )
    }
    if (price === undefined) continue
    prices.set(model.upstreamName, price)
    for (const one of named) for (const name of one.names) prices.set(name, one.price)
    const priced = { share, model, price, named, isOfInput: mainMeter === 'input' }
    costed.push(priced)
    const costAt = (kind: string): ExchangeCost => costOfShare(priced, kind, contexts, config.hold)
    cost = sumOf(
      cost,
      at(share.firstAt, () => [...kinds].map(costAt).reduce(maxOf)),
    )
  }
  const [kind = ''] = kinds
  const each = eachRequest(costed, kind, contexts, config.hold)
  const isUniform = prices.size === 1 && shares.every(isSummable)
  return {
    model: prices.size === 1 ? first.model.entry : undefined,
    modelName: first.model.canonicalName,
    upstreamModelName: isUniform ? first.model.upstreamName : '',
    price: config.unmetered ? undefined : first.price,
    batch: { cost, prices, each, tools: shares.flatMap(({ share }) => toolsOf(share)) },
  }
}

/** Whether the totals of all its requests cost the same as the requests one by one. */
function isSummable({ share, price }: PricedShare): boolean {
  if (price === undefined || share.units !== undefined) return false
  if (share.drawsWith !== undefined || share.namedModels !== undefined) return false
  const searches = price.rubPerUnit['searches'] ?? price.rubPerMillion.searches
  return price.above.length === 0 && (share.mayRunTools !== true || searches === undefined)
}

/** Adds the place of the request to an error. */
function at<T>(place: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new GatewayError(error, `${place}: ${error.message}`, { cause: error, param: place })
  }
}

function badRequest(place: string, message: string): GatewayError {
  return new GatewayError('body_invalid', `${place}: ${message}`, { param: place })
}
