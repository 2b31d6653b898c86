import type { KeyRecord } from '../../accounts/accounts.ts'
import type { KeyRow } from './store-operation.ts'

function list(text: string | null): readonly string[] | undefined {
  return text === null ? undefined : JSON.parse(text)
}

/** A key as it stands in the store, as the gates see it. */
export function keyRecord(row: KeyRow): KeyRecord {
  const models = list(row.models)
  const ipAddresses = list(row.ip_addresses)
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    lastFour: row.last_four,
    createdAt: row.created_at,
    ...(models === undefined ? {} : { models }),
    ...(row.budget_micros === null ? {} : { budgetMicros: row.budget_micros }),
    ...(row.budget_period === null ? {} : { budgetPeriod: row.budget_period }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(ipAddresses === undefined ? {} : { ipAddresses }),
    ...(row.blocked_at === null ? {} : { blockedAt: row.blocked_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
  }
}
