import { rateLimitOptions } from '../lib/config/plugin-options.ts'
import { expectedTokens } from '../lib/metering/expected-tokens.ts'
import { tokensOf } from '../lib/money/usage.ts'
import type { Exchange } from '../lib/pipeline/exchange.ts'
import type { Stage } from '../lib/pipeline/plugin.ts'
import type { PluginContext } from '../lib/front/plugin-context.ts'
import type { Admission, RateLimiting } from '../lib/rate-limits/rate-limits.ts'
import { borrowRateLimits, returnRateLimits } from '../lib/rate-limits/shared-rate-limits.ts'

/** Limits each key: requests and tokens per minute, and concurrent requests. */
export function rateLimit(context: PluginContext, options: Readonly<Record<string, unknown>>): Stage {
  const { keys, ...limits } = rateLimitOptions.parse(options)
  let rateLimits: RateLimiting | undefined
  const admissions = new WeakMap<Exchange, Admission>()
  const hasTokenLimit = [limits, ...Object.values(keys)].some(one => one.tokensPerMinute !== undefined)

  return {
    needs: ['route', 'key'],
    // Only token limits need the request; without them the plugin may precede the one that reads it.
    needsToForward: hasTokenLimit ? ['request', 'target'] : [],

    async start() {
      rateLimits = await borrowRateLimits(context)
    },

    async onRequest(exchange) {
      // Each of the requests on the connection counts for itself.
      if (exchange.isConnection) return
      const { id } = exchange.get('key')
      const isFree = exchange.get('route').match.operation.isFree
      const tokens =
        !hasTokenLimit || isFree ? 0 : expectedTokens(exchange.get('target'), exchange.get('request'))
      const admission = await rateLimits?.admit(id, { ...limits, ...keys[id] }, tokens)
      if (admission !== undefined) admissions.set(exchange, admission)
    },

    onEnd(exchange) {
      return admissions.get(exchange)?.end(tokensUsed(exchange))
    },

    async stop() {
      if (rateLimits !== undefined) await returnRateLimits(context)
    },
  }
}

/** Undefined where the usage is unknown, for instance without usage-tap. */
function tokensUsed(exchange: Exchange): number | undefined {
  const usage = exchange.find('usage')
  if (usage !== undefined) return usage.reduce((sum, line) => sum + tokensOf(line.meters), 0)
  return exchange.find('hold') !== undefined || !exchange.wasSent ? 0 : undefined
}
