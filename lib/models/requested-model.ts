import { nearest } from '../platform/nearest.ts'
import type { RequestFacts, NamedModel } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from '../routes/route.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ModelDirectory, ResolvedModel } from './model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { ModelConfig } from '../config/config.ts'

/** A pattern matches names of any length, and a provider may ignore the rest; charges are indexed by the name. */
const nameLengthMax = 512

/** The exchange that names models, and the directory that resolves them. */
interface NamingContext {
  readonly exchange: Exchange
  readonly route: Route
  readonly directory: ModelDirectory
  /** The operation is not charged, so no model needs a price. */
  readonly isUnpriced: boolean
}

/** The price of a model that a request names beside the responding one. */
export interface NamedPrice {
  /** The name in the request, and the name at the provider. */
  readonly names: readonly string[]
  readonly price: Price
  /** A tool makes images with it. */
  readonly isDrawing: boolean
  /** The most that it reads and writes. */
  readonly model?: Pick<ModelConfig, 'contextTokensMax' | 'outputTokensMax'> | undefined
}

/**
 * The model a request names, in its body or path, as the config has it.
 * @returns undefined for requests that need none
 * @throws GatewayError body_invalid, model_not_found, model_not_allowed, not_supported
 */
export function requestedModel(
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
  directory: ModelDirectory,
): ResolvedModel | undefined {
  const name = route.match.pathModel ?? facts.model ?? route.match.operation.defaultModel
  if (name === undefined || name === '') {
    if (needsNoModel(exchange, route)) return undefined
    if (route.match.operation === route.dialect.generic) {
      throw new GatewayError(
        'not_supported',
        'An operation that the gateway does not know needs a "model": it has no price without.',
      )
    }
    throw new GatewayError('body_invalid', 'The request names no model. Send "model".', { param: 'model' })
  }
  const model = namedModel(exchange, route, name, directory)
  if (route.match.pathModel !== undefined || facts.sameModels !== undefined)
    requireOneModel(route, facts, model)
  const providerName = route.providerName ?? model.entry.providers[0]
  for (const other of facts.otherModels ?? [])
    requireSameEntry(model, namedModel(exchange, { ...route, providerName }, other, directory))
  return model
}

/**
 * A provider may read the model in the path or the one in the body, so they must be the same.
 * @throws GatewayError body_invalid
 */
function requireOneModel({ match }: Route, facts: RequestFacts, model: ResolvedModel): void {
  const again = facts.sameModels ?? []
  const named =
    match.pathModel === undefined || facts.model === undefined
      ? again
      : [...again, { name: facts.model, at: 'model' }]
  for (const { name, at } of named) {
    if (name.replace(/^models\//, '') === model.upstreamName) continue
    throw new GatewayError(
      'body_invalid',
      `${at}: The body names the model "${name}", and the request goes to "${model.upstreamName}". Leave it out of the body, or name the same.`,
      { param: at },
    )
  }
}

/** The provider chooses which of them responds, and the client may influence it: they must have one price. */
function requireSameEntry(model: ResolvedModel, other: ResolvedModel): void {
  if (model.entry.name === other.entry.name) return
  throw new GatewayError(
    'not_supported',
    `"${other.canonicalName}" may have another price than "${model.canonicalName}": ask for one model at a time.`,
    { param: 'models' },
  )
}

/**
 * A model by the name that a client used, if the client's key may use it.
 * @throws GatewayError model_not_found, model_not_allowed
 */
export function namedModel(
  exchange: Exchange,
  route: Route,
  name: string,
  directory: ModelDirectory,
): ResolvedModel {
  if (name.length > nameLengthMax) {
    throw new GatewayError(
      'model_not_found',
      `A model name has at most ${nameLengthMax} characters; this one has ${name.length}.`,
      { param: 'model' },
    )
  }
  const model = directory.resolve(name, route.providerName)
  // Without the auth plugin (an unmetered private gateway) there is no key to check.
  const allowed = exchange.find('key')?.models
  if (model === undefined) {
    throw new GatewayError(
      'model_not_found',
      `The model "${name}" ${whyUnknown(name, route, directory, allowed)}`,
      {
        param: 'model',
      },
    )
  }
  requireAllowed(allowed, name, model.canonicalName)
  const betas = route.dialect.name === 'anthropic' ? exchange.request.headers['anthropic-beta'] : undefined
  return betas === undefined ? model : withAskedLimits(String(betas), model)
}

/** Anthropic's betas that raise the limits of a model's input or output: `context-1m-...`, `output-300k-...`. */
const limitBeta = /(?:^|[\s,])(context|output)-(\d{1,4})(k|m)-/gi

/** A model with the limits that its request asks for: the hold covers input and output beyond the usual limits. */
function withAskedLimits(betas: string, model: ResolvedModel): ResolvedModel {
  let entry = model.entry
  for (const [, what = '', count = '', unit = ''] of betas.matchAll(limitBeta)) {
    const tokens = Number(count) * (unit.toLowerCase() === 'm' ? 1_000_000 : 1000)
    const limit = what.toLowerCase() === 'context' ? 'contextTokensMax' : 'outputTokensMax'
    const usual = entry[limit]
    if (usual !== undefined && usual < tokens) entry = { ...entry, [limit]: tokens }
  }
  return entry === model.entry ? model : { ...model, entry }
}

function whyUnknown(
  name: string,
  { providerName }: Route,
  directory: ModelDirectory,
  allowed: readonly string[] | undefined,
): string {
  const isOffered = (one: string): boolean =>
    isAllowed(allowed, one) && directory.resolve(one, providerName) !== undefined
  const near = nearestModel(name, directory.servedNames(), isOffered)
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`
  if (providerName !== undefined) {
    const elsewhere = directory.resolve(name, undefined)
    return elsewhere !== undefined && isAllowed(allowed, elsewhere.canonicalName)
      ? `is not a model of the provider in the path. Leave /${providerName} out of the path.`
      : `does not exist here; GET /${providerName}/v1/models lists those that do.${hint}`
  }
  const offers = directory.offersOf(name).map(entry => `"${entry.name}"`)
  if (offers.length > 1) return `is offered by more than one provider; ask for ${offers.join(' or ')}.`
  return `does not exist here; GET /v1/models lists those that do.${hint}`
}

/** Comparing names is slow, so it compares only those of limited length with the same first two characters. */
function nearestModel(
  name: string,
  names: readonly string[],
  isOffered: (name: string) => boolean,
): string | undefined {
  if (name.length > 64) return undefined
  const beginning = name.slice(0, 2).toLowerCase()
  return nearest(
    name,
    names.filter(one => one.startsWith(beginning) && isOffered(one)),
  )
}

function needsNoModel(exchange: Exchange, { match, dialect }: Route): boolean {
  const { modelIn, isFree } = match.operation
  if (modelIn === 'none' || modelIn === 'cache' || isFree) return true
  // An unknown operation of a provider: reading with it is free, requesting work needs a price.
  return match.operation === dialect.generic && exchange.request.method !== 'POST'
}

/**
 * Whether an allow-list of models covers a name. An entry may end in `*`; no list allows everything.
 */
export function isAllowed(allowed: readonly string[] | undefined, name: string): boolean {
  if (allowed === undefined) return true
  return allowed.some(entry => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name))
}

/** @throws GatewayError model_not_allowed */
export function requireAllowed(
  allowed: readonly string[] | undefined,
  name: string,
  canonicalName: string,
): void {
  if (isAllowed(allowed, name) || isAllowed(allowed, canonicalName)) return
  throw new GatewayError(
    'model_not_allowed',
    `This API key may not use the model "${name}"; GET /v1/models lists those that it may.`,
    { param: 'model' },
  )
}

/** Models beside the responding one. One request makes images with one model, the requests of a batch with several. */
interface NamedBeside {
  readonly namedModels?: readonly NamedModel[] | undefined
  readonly drawingModels?: readonly string[]
}

/**
 * The prices of the models that a request names beside the responding one: an advisor, a fallback or a tool is billed
 * by its own model.
 * @throws GatewayError model_not_found, model_not_allowed, with the place that names the model
 */
export function priceNamedModels(
  context: NamingContext,
  { namedModels = [], drawingModels = [] }: NamedBeside,
  model: ResolvedModel | undefined,
): readonly NamedPrice[] {
  const providerName = context.route.providerName ?? model?.entry.providers[0]
  const places = new Map([
    ...drawingModels.map(name => [name, 'tools'] as const),
    ...namedModels.map(({ name, at }) => [name, at] as const),
  ])
  return [...places].flatMap(([name, at]) => {
    const found = resolveNamed(context, { name, at }, providerName)
    const price = priceInForce(found.entry.prices, context.exchange.startedAt)
    if (price !== undefined) {
      const isDrawing = drawingModels.includes(name)
      return [{ names: [name, found.upstreamName], price, isDrawing, model: found.entry }]
    }
    if (context.isUnpriced) return []
    throw unpriced({ name, at })
  })
}

function resolveNamed(
  { exchange, route, directory }: NamingContext,
  { name, at }: NamedModel,
  providerName: string | undefined,
): ResolvedModel {
  const plain = route.dialect.name === 'google' ? name.replace(/^models\//, '') : name
  try {
    return namedModel(exchange, { ...route, providerName }, plain, directory)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new GatewayError(error, `${at}: ${error.message}`, { cause: error, param: at })
  }
}

function unpriced({ name, at }: NamedModel): GatewayError {
  return new GatewayError(
    'model_not_found',
    `${at}: The model "${name}" has no price here, so it is not served.`,
    { param: at },
  )
}
