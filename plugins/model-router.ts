import { GatewayError } from '../lib/errors.ts'
import type { Route, Target } from '../lib/exchange-facts.ts'
import { readBody } from '../lib/http/read-body.ts'
import { isPriced } from '../lib/models/is-priced.ts'
import { listModels } from '../lib/models/list-models.ts'
import { ModelDirectory, type ResolvedModel } from '../lib/models/model-directory.ts'
import { requestedModel } from '../lib/models/requested-model.ts'
import { routeProvider } from '../lib/models/route-provider.ts'
import { spliceRequest } from '../lib/models/splice-request.ts'
import { priceInForce } from '../lib/money/price.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Plugin } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/plugin-context.ts'
import { nothingScanned, scanRequest, type ScannedRequest } from '../lib/scan-request.ts'

/** Reads the request and decides which provider and model it goes to, and at which price. */
export function modelRouter(context: PluginContext): Plugin {
  const { config, bodyBudget } = context
  const directory = new ModelDirectory(config)

  return {
    name: 'model-router',
    needs: ['route'],
    provides: ['body', 'request', 'target'],

    async onRequest(exchange) {
      const route = exchange.get('route')
      const { operation } = route.match
      if (operation.unsupported !== undefined) throw new GatewayError('not_supported', operation.unsupported)
      if (operation.isModelList === true) {
        exchange.localAnswer = listModels(config, directory, route, exchange.find('key')?.models)
        return
      }
      const bytesMax = config.limits.bodyBytesMax
      const body = await readBody(exchange.request, exchange.response, { bytesMax, budget: bodyBudget })
      exchange.set('body', body)
      const scanned = await scan(exchange, route, body, bytesMax)
      exchange.set('request', scanned.facts)
      const model = requestedModel(exchange, route, scanned.facts, directory)
      const price = priceOf(route, model, exchange.startedAt, config.unmetered)
      const chosen = await routeProvider(context, exchange, route, scanned.facts, model)
      exchange.onClientLeft = chosen.provider.onClientLeft
      exchange.set('target', {
        ...chosen,
        dialectName: route.dialect.name,
        model: model?.entry,
        modelName: model?.canonicalName ?? '',
        upstreamModelName: model?.upstreamName ?? '',
        price,
        ...spliceRequest(route, scanned, body, model?.upstreamName, chosen.provider),
      })
    },

    onEnd(exchange) {
      bodyBudget.give(exchange.find('body')?.length ?? 0)
    },
  }
}

async function scan(
  exchange: Exchange,
  route: Route,
  body: Buffer,
  bodyBytesMax: number,
): Promise<ScannedRequest> {
  const { operation } = route.match
  const isUnread = operation.body === 'none' || (body.length === 0 && exchange.request.method !== 'POST')
  if (isUnread) return nothingScanned(body)
  const foldUnderscores = route.dialect.name === 'google'
  return scanRequest(operation, exchange.request, body, { bodyBytesMax, foldUnderscores })
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
