import type { ProviderObject } from '../ledger/ledger.ts'
import type { ObjectKind } from '../money/usage.ts'

/** A row of `objects`. */
export interface ObjectRow {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
  readonly account_id: string
  readonly credential: string
  readonly exchange_id: string
  /** JSON. */
  readonly facts: string | null
}

/** Takes the object by provider, kind and id. */
export const selectObject = `SELECT provider, kind, id, account_id, credential, exchange_id, facts
  FROM objects WHERE provider = ? AND kind = ? AND id = ?`

/** A row as the ledger tells it. */
export function objectRecord(row: ObjectRow | undefined): ProviderObject | undefined {
  if (row === undefined) return undefined
  return {
    provider: row.provider,
    kind: row.kind,
    id: row.id,
    accountId: row.account_id,
    credential: row.credential,
    exchangeId: row.exchange_id,
    ...(row.facts !== null && { facts: JSON.parse(row.facts) }),
  }
}
