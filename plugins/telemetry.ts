import type { PluginContext } from '../lib/front/plugin-context.ts'
import { telemetryOptions } from '../lib/config/plugin-options.ts'
import { openExchangeTelemetry } from '../lib/observability/exchange-telemetry.ts'
import type { ExchangeTelemetry } from '../lib/observability/exchange-telemetry.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'

/** Sends spans and metrics of requests by OpenTelemetry; no content, and no keys. */
export function telemetry({ bus, log }: PluginContext, options: Readonly<Record<string, unknown>>): Stage {
  const settings = telemetryOptions.parse(options)
  let exchanges: ExchangeTelemetry | undefined

  return {
    async start() {
      exchanges = await openExchangeTelemetry(settings, bus, log)
    },

    onUpstreamRequest(exchange) {
      const headers = (exchange.upstreamHeaders ??= new Map<string, string | undefined>())
      // A header that a plugin has set stays.
      const isOurs = !headers.has('traceparent')
      for (const name of ['traceparent', 'tracestate', 'baggage']) {
        if (!headers.has(name)) headers.set(name, undefined)
      }
      if (settings.sendTrace && isOurs) headers.set('traceparent', exchanges?.traceParent(exchange))
    },

    onEnd: (exchange, outcome) => exchanges?.end(exchange, outcome),

    stop: () => exchanges?.close(),
  }
}
