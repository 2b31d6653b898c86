import type { NamedModel, RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from '../routes/route.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { ModelConfig } from '../config/config.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ModelDirectory, ResolvedModel } from './model-directory.ts'
import { namedModel } from './requested-model.ts'

/** The exchange that names models, and the directory that resolves them. */
export interface NamingContext {
  readonly exchange: Exchange
  readonly route: Route
  readonly directory: ModelDirectory
  /** Nothing is charged, so no model needs a price. */
  readonly isUnpriced: boolean
}

/** What a model costs that a request names beside the one that answers. */
export interface NamedPrice {
  /** As the request names it, and as the provider knows it. */
  readonly names: readonly string[]
  readonly price: Price
  /** A tool draws with it. */
  readonly isDrawing: boolean
  /** What it reads and writes at most. */
  readonly model?: Pick<ModelConfig, 'contextTokensMax' | 'outputTokensMax'> | undefined
}

/**
 * What the models cost that a request names beside the one that answers: an advisor, a fallback or a tool is billed by
 * its own model.
 * @throws GatewayError model_not_found, model_not_allowed, with the place that names the model
 */
export function priceNamedModels(
  context: NamingContext,
  { namedModels = [], drawsWith = [] }: Pick<RequestFacts, 'namedModels' | 'drawsWith'>,
  model: ResolvedModel | undefined,
): readonly NamedPrice[] {
  const providerName = context.route.providerName ?? model?.entry.providers[0]
  const places = new Map([
    ...drawsWith.map(name => [name, 'tools'] as const),
    ...namedModels.map(({ name, at }) => [name, at] as const),
  ])
  return [...places].flatMap(([name, at]) => {
    const found = resolveNamed(context, { name, at }, providerName)
    const price = priceInForce(found.entry.prices, context.exchange.startedAt)
    if (price !== undefined) {
      const isDrawing = drawsWith.includes(name)
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
