import { formatRoubles } from '../money/amount.ts'
import type { OwnRequest } from './own-endpoint.ts'

/** The key that asks, without its value: its limits and what it has used of them. */
export async function showKey({ reports, key }: OwnRequest): Promise<unknown> {
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
  }
}
