import { formatRoubles } from '../money/amount.ts'
import { findRateLimits } from '../rate-limits/shared-rate-limits.ts'
import type { OwnRequest } from './own-endpoint.ts'
import type { Config } from '../config/config.ts'
import { rateLimitOptions } from '../config/plugin-options.ts'
import type { Limits } from '../rate-limits/rate-limits.ts'

/** The key that asks, without its value: its limits and what it has used of them. */
export async function showKey(own: OwnRequest): Promise<unknown> {
  const { reports, key } = own
  const budget = await reports.keyBudget(key)
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    lastFour: key.lastFour,
    models: key.models ?? null,
    ipAddresses: key.ipAddresses ?? null,
    createdAt: new Date(key.createdAt).toISOString(),
    expiresAt: key.expiresAt === undefined ? null : new Date(key.expiresAt).toISOString(),
    budget:
      budget === undefined
        ? null
        : {
            limit: formatRoubles(budget.budgetMicros),
            period: key.budgetPeriod ?? 'total',
            spent: formatRoubles(budget.spentMicros),
            held: formatRoubles(budget.heldMicros),
            available: formatRoubles(budget.availableMicros),
            resetsAt: budget.resetsAt === undefined ? null : new Date(budget.resetsAt).toISOString(),
          },
    rateLimits: await showRateLimits(own),
  }
}

/** What the config lets a key do; undefined when the plugin rate-limit is not enabled. */
function limitsOfKey({ plugins }: Pick<Config, 'plugins'>, keyId: string): Limits | undefined {
  const plugin = plugins.find(({ name }) => name === 'rate-limit')
  if (plugin === undefined) return undefined
  const { keys, ...limits } = rateLimitOptions.parse(plugin.options)
  return { ...limits, ...keys[keyId] }
}

/** Null without the plugin; a limit that the key does not have is absent. */
async function showRateLimits({ config, bus, key }: OwnRequest): Promise<unknown> {
  const limits = limitsOfKey(config, key.id)
  const taken = await findRateLimits(bus)?.taken(key.id)
  if (limits === undefined || taken === undefined) return null
  const minute = (limit: number, used: number, until: number | undefined) => ({
    limit,
    used,
    available: Math.max(0, limit - used),
    resetsAt: until === undefined ? null : new Date(until).toISOString(),
  })
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits
  return {
    ...(requestsPerMinute !== undefined && {
      requestsPerMinute: minute(requestsPerMinute, taken.requests, taken.requestsUntil),
    }),
    ...(tokensPerMinute !== undefined && {
      tokensPerMinute: minute(tokensPerMinute, taken.tokens, taken.tokensUntil),
    }),
    ...(concurrentRequests !== undefined && {
      concurrentRequests: {
        limit: concurrentRequests,
        used: taken.concurrentRequests,
        available: Math.max(0, concurrentRequests - taken.concurrentRequests),
      },
    }),
  }
}
