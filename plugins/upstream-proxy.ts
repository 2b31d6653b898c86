import type { Readable } from 'node:stream'
import { answerAddresses, AddressRewriter } from '../lib/dialects/rewrite-addresses.ts'
import { StreamRestorer } from '../lib/dialects/openai/restore-stream.ts'
import type { Target } from '../lib/models/choose-provider.ts'
import { CutError, GatewayError } from '../lib/pipeline/errors.ts'
import { EventSplitter } from '../lib/http/event-splitter.ts'
import { headerValue } from '../lib/http/headers.ts'
import type { Interest } from '../lib/http/json-scan.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'
import {
  ownAddress,
  providerRequestId,
  upstreamHeaders,
  withOwnRepeats,
} from '../lib/upstream/upstream-headers.ts'
import { UpstreamCall, type RequestFor } from '../lib/upstream/upstream-call.ts'
import { SessionCall } from '../lib/websocket/session-call.ts'
import { TurnsCall } from '../lib/websocket/turns-call.ts'
import type { UpgradeFor } from '../lib/websocket/open-upstream.ts'
import { forwardedProtocols, withoutHandshake } from '../lib/websocket/subprotocols.ts'
import { Upstreams } from '../lib/upstream/upstreams.ts'

/** Sends the request to its provider and pushes the response into the relay. */
export function upstreamProxy(context: PluginContext): Stage {
  const { config, bodies } = context
  const upstreams = Upstreams.shared(config, context)
  return {
    needs: ['route', 'target'],

    forward(exchange, sink) {
      const call = new UpstreamCall(exchange, sink, upstreams, requestFor)
      exchange.set('upstream', call)
      call.start()
      return call
    },

    forwardSession(exchange, sink) {
      const { messageBytesMax, sessionMs, idleMs } = config.limits.session
      const onHeld = (bytes: number): void => bodies.holdMessage(bytes)
      const options = { upstreams, upgradeFor, messageBytesMax, onHeld, sessionMs, idleMs }
      const protocol = exchange.get('route').match.operation.turns
      const now = (): number => context.clock.now()
      const call =
        protocol === undefined
          ? new SessionCall(exchange, sink, options)
          : new TurnsCall(exchange, sink, { ...options, protocol, now })
      exchange.set('upstream', call)
      call.start()
      return call
    },

    onResponse(exchange, head) {
      const requestId = providerRequestId(head.headers)
      if (requestId !== undefined) exchange.set('providerRequestId', requestId)
      if (headerValue(head.headers, 'content-encoding') !== undefined) return undefined
      const addresses = addressesIn(exchange)
      if (addresses !== undefined && head.status < 300) {
        const { baseUrl } = exchange.get('target')
        const route = exchange.get('route')
        exchange.rewriter = new AddressRewriter(addresses, address =>
          ownAddress(address, baseUrl, context.config.publicUrl, route),
        )
      }
      const contentType = headerValue(head.headers, 'content-type')?.toLowerCase()
      if (contentType?.startsWith('text/event-stream') !== true) return undefined
      if (exchange.get('target').isUsageInjected) exchange.rewriter = new StreamRestorer()
      const { dialect, match } = exchange.get('route')
      exchange.cutNotice = {
        event: reason => dialect.errorEvent(cutBy(reason), exchange.id, match.operation.name),
        events: new EventSplitter(),
      }
      return undefined
    },

    drain: () => upstreams.drain(),

    stop: () => upstreams.close(),
  }
}

/** Where the response may have provider addresses that must be replaced by ours. */
function addressesIn(exchange: Exchange): Interest | undefined {
  const { dialect, match } = exchange.get('route')
  return match.object === undefined ? undefined : answerAddresses(dialect.name, match)
}

const requestFor: RequestFor = (exchange, target) => ({
  method: exchange.request.method ?? 'GET',
  path: upstreamPath(exchange, target),
  headers: upstreamHeaders(requestHeadersOf(exchange), target, addressesIn(exchange) !== undefined),
  body: bodyOf(target),
})

const upgradeFor: UpgradeFor = (exchange, target) => {
  const rawHeaders = requestHeadersOf(exchange)
  const protocols = forwardedProtocols(rawHeaders)
  const headers = withoutHandshake(upstreamHeaders(rawHeaders, target))
  if (protocols !== undefined) headers.push('sec-websocket-protocol', protocols)
  return { path: upstreamPath(exchange, target), headers: [...headers, 'host', target.baseUrl.host] }
}

/** The client's headers, with those that plugins replaced. */
function requestHeadersOf(exchange: Exchange): readonly string[] {
  const { upstreamHeaders: own } = exchange
  const rawHeaders = withOwnRepeats(exchange.request.rawHeaders, exchange.find('key')?.accountId)
  if (own === undefined) return rawHeaders
  const kept = rawHeaders.filter((_, index) => !own.has((rawHeaders[index & ~1] as string).toLowerCase()))
  for (const [name, value] of own) if (value !== undefined) kept.push(name, value)
  return kept
}

function bodyOf({ body }: Target): Buffer | Readable | null {
  if (body === undefined) return null
  return Buffer.isBuffer(body) ? body : body.open()
}

function upstreamPath(exchange: Exchange, { baseUrl, upstreamPath: path }: Target): string {
  const { match } = exchange.get('route')
  if (match.isAtOrigin === true) return path
  const basePath = baseUrl.pathname.replace(/\/$/, '')
  return (match.isStableVersion === true ? basePath.replace(/\/v1beta$/, '/v1') : basePath) + path
}

/**
 * The error that the client receives for an incomplete response: the gateway's own reason for cutting it, else that the
 * provider did. The transport's message about a provider is not for clients.
 */
function cutBy(reason: Error | undefined): GatewayError {
  const isOwn = reason instanceof GatewayError && !reason.code.startsWith('upstream_')
  return isOwn || reason instanceof CutError
    ? reason
    : new GatewayError('upstream_failed', 'The provider broke off in the middle of its response.', {
        cause: reason,
      })
}
