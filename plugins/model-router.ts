import { modelRouterOptions, type ModelRouterOptions } from '../lib/config/plugin-options.ts'
import { planBatch } from '../lib/batches/plan-batch.ts'
import { GatewayError } from '../lib/pipeline/errors.ts'
import { listModels } from '../lib/models/list-models.ts'
import { ObjectLists } from '../lib/object-lists/object-lists.ts'
import { ModelDirectory } from '../lib/models/model-directory.ts'
import { admitConnection, routeTurn } from '../lib/models/connection.ts'
import { routeRequest } from '../lib/models/route-request.ts'
import { SessionNamesCheck } from '../lib/models/session-names-check.ts'
import { answerOwn } from '../lib/own-endpoints/answer-own.ts'
import { FreeRequests } from '../lib/overload/free-requests.ts'
import { turns } from '../lib/bodies/turns.ts'
import type { Exchange, LocalResponse, Facts } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'
import { type ScannedRequest, receiveRequest } from '../lib/routes/receive-request.ts'
import { receiveSetup } from '../lib/websocket/client-socket.ts'

/** Reads the request and decides which provider and model it goes to, and at which price. */
export function modelRouter(context: PluginContext, options: Readonly<Record<string, unknown>>): Stage {
  const { config, ledger, bodies, bus } = context
  const allowed = modelRouterOptions.parse(options)
  const directory = new ModelDirectory(config)
  const freeRequests = new FreeRequests(config.limits.freeRequestsPerMinute)
  const objectLists = new ObjectLists(context)
  const routing = { config, ledger, directory, planBatch }

  return {
    // Without keys every caller could use every model, so a gateway that charges requires one.
    needs: config.unmetered ? ['route'] : ['route', 'key'],
    provides: ['body', 'request', 'target'],

    async onRequest(exchange) {
      const route = exchange.get('route')
      const { operation } = route.match
      if ((operation.unsupported ?? operation.mintsKeys) !== undefined) checkAllowed(exchange, allowed, bus)
      const accountId = exchange.find('key')?.accountId
      if (operation.isFree) await freeRequests.admit(accountId)
      if (operation.isModelList === true) await turns.enter(ownerOf(exchange))
      if (operation.isModelList === true || operation.list !== undefined) {
        const list = listed({ config, directory, freeRequests, objectLists }, exchange)
        if (list !== undefined)
          return void (exchange.localResponse = list instanceof Promise ? await list : list)
      }
      if (exchange.isConnection || operation.turns !== undefined) return admitConnection({ config }, exchange)
      const connection = exchange.find('connection')
      if (connection !== undefined) {
        goTo(exchange, await routeTurn({ ...routing, bodies }, exchange, connection))
        return
      }
      const scanned = await receive({ bodies, config }, exchange)
      if (route.ownEndpoint !== undefined) {
        const own = route.ownEndpoint
        const answer = () => answerOwn(own, { ...context, directory, exchange })
        exchange.localResponse = await freeRequests.inTurn(accountId ?? '', answer)
        return
      }
      const found = routeRequest(routing, exchange, route, scanned)
      const routed = found instanceof Promise ? await found : found
      if (routed.request.batch?.isEmpty === true) await freeRequests.admit(accountId)
      goTo(exchange, routed)
    },

    onSession(exchange) {
      const { session } = exchange.get('route').match.operation
      if (session === undefined) return undefined
      return new SessionNamesCheck(exchange, session, { config, ledger, directory })
    },

    onEnd(exchange) {
      exchange.find('receivedBody')?.close()
    },

    stop: () => objectLists.close(),
  }
}

/** @throws GatewayError not_supported for an unsupported operation, or one that mints keys and is not enabled */
function checkAllowed(exchange: Exchange, allowed: ModelRouterOptions, bus: PluginContext['bus']): void {
  const { unsupported, mintsKeys } = exchange.get('route').match.operation
  if (unsupported !== undefined) throw new GatewayError('not_supported', unsupported)
  if (mintsKeys !== undefined && allowed.mintedKeys === 'refuse')
    throw new GatewayError('not_supported', mintsKeys)
  if (mintsKeys !== undefined)
    bus.emit('alarm', 'unmetered_session', { requestId: exchange.id, key: exchange.find('key')?.id })
}

/** The owner whose requests share turns. */
function ownerOf(exchange: Exchange): string | undefined {
  return exchange.find('key')?.accountId ?? exchange.request.socket.remoteAddress
}

/** Receives the request's body, or the first messages of its session, in its owner's turn. */
async function receive(
  { bodies, config }: Pick<PluginContext, 'bodies' | 'config'>,
  exchange: Exchange,
): Promise<ScannedRequest> {
  const route = exchange.get('route')
  const received =
    route.match.operation.session === undefined
      ? receiveRequest(bodies, exchange, route, config.limits)
      : receiveSetup(exchange, route, config.limits.headersMs)
  const scanned = received instanceof Promise ? await received : received
  // Bodies of many requests may have been completed at once.
  if (!turns.mayBegin()) await turns.wait(ownerOf(exchange))
  return scanned
}

interface ListsContext {
  readonly config: PluginContext['config']
  readonly directory: ModelDirectory
  readonly freeRequests: FreeRequests
  readonly objectLists: ObjectLists
}

/** A list that the gateway itself produces; undefined for other requests. */
function listed(
  { config, directory, freeRequests, objectLists }: ListsContext,
  exchange: Exchange,
): LocalResponse | Promise<LocalResponse> | undefined {
  const route = exchange.get('route')
  const key = exchange.find('key')
  const { list, isModelList } = route.match.operation
  if (isModelList === true) return listModels(config, directory, route, key?.models)
  // Without isolation of objects, the provider's own list is used.
  if (list === undefined || config.isolation === 'off') return undefined
  return freeRequests.inTurn(key?.accountId ?? '', () => objectLists.answer(exchange, list))
}

function goTo(
  exchange: Exchange,
  { request, target }: { readonly request: Facts['request']; readonly target: Facts['target'] },
): void {
  exchange.set('request', request)
  exchange.set('target', target)
  exchange.onClientLeft = target.provider.onClientLeft
}
