import { StreamRestorer } from '../lib/dialects/openai/restore-stream.ts'
import type { Target } from '../lib/exchange-facts.ts'
import { headerValue } from '../lib/http/headers.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Plugin, ResponseHead } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/plugin-context.ts'
import { AnswerHandler } from '../lib/upstream/answer-handler.ts'
import { upstreamHeaders } from '../lib/upstream/upstream-headers.ts'

/** Sends the request to its provider and pushes the answer into the relay. */
export function upstreamProxy({ pools }: PluginContext): Plugin {
  return {
    name: 'upstream-proxy',
    needs: ['route', 'target'],

    forward(exchange, sink) {
      const target = exchange.get('target')
      const { provider, credential, baseUrl } = target
      const handler = new AnswerHandler(sink, provider.name, {
        onSent() {
          exchange.wasSent = true
        },
      })
      pools.get(provider, baseUrl.origin, credential.name).dispatch(
        {
          method: exchange.request.method ?? 'GET',
          path: upstreamPath(exchange, target),
          headers: upstreamHeaders(exchange.request.rawHeaders, target),
          body: target.body ?? null,
        },
        handler,
      )
      return handler
    },

    onResponse(exchange, head) {
      const isPlainStream = isEventStream(head) && headerValue(head.headers, 'content-encoding') === undefined
      if (!isPlainStream) return undefined
      if (exchange.get('target').isUsageInjected) exchange.rewriter = new StreamRestorer()
      const { dialect, match } = exchange.get('route')
      exchange.cutNotice = () =>
        dialect.errorEvent(
          'upstream_failed',
          'The provider broke off in the middle of its answer.',
          exchange.id,
          match.operation.name,
        )
      return undefined
    },
  }
}

function upstreamPath(exchange: Exchange, { baseUrl, upstreamPath: path }: Target): string {
  const { match } = exchange.get('route')
  if (match.isAtOrigin === true) return path
  const basePath = baseUrl.pathname.replace(/\/$/, '')
  return (match.isStableVersion === true ? basePath.replace(/\/v1beta$/, '/v1') : basePath) + path
}

function isEventStream(head: ResponseHead): boolean {
  return headerValue(head.headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') === true
}
