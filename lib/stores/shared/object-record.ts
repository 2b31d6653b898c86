import type { ListedObject, ObjectQuery, ProviderObject } from '../../ledger/object-ledger.ts'
import { listedKinds, type ObjectKind } from '../../money/usage.ts'
import type { QueryValue } from './store-queries.ts'

/** A row of `objects`. */
export interface ObjectRow {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
  readonly account_id: string
  readonly credential: string
  readonly exchange_id: string
  readonly dialect: string | null
  /** JSON. */
  readonly facts: string | null
  readonly created_at: number
}

const columns = 'provider, kind, id, account_id, credential, exchange_id, dialect, facts, created_at'

/** Takes the object by provider, kind and id. */
export const selectObject = `SELECT ${columns} FROM objects WHERE provider = ? AND kind = ? AND id = ?`

/** Leaves the object out of lists, by provider, kind and id. */
export const unlistObject =
  'UPDATE objects SET listed_at = NULL WHERE provider = ? AND kind = ? AND id = ? AND listed_at IS NOT NULL'

/** Where an object of a kind is in lists, by the moment when it is recorded: nowhere, if nobody can list its kind. */
export function listedAt(kind: ObjectKind, at: number): number | null {
  return (listedKinds as readonly ObjectKind[]).includes(kind) ? at : null
}

/** The query for a list, with its values. */
export function selectListed({ accountId, kind, order, after, limit }: ObjectQuery): {
  readonly sql: string
  readonly values: readonly QueryValue[]
} {
  const [behind, direction] = order === 'newest-first' ? ['<', 'DESC'] : ['>', 'ASC']
  // The object may have been unlisted since, and its place is known all the same.
  const place = '(SELECT created_at FROM objects WHERE provider = ? AND kind = ? AND id = ?)'
  const beginning = after === undefined ? '' : `AND (listed_at, id) ${behind} (${place}, ?)`
  const cursor = after === undefined ? [] : [after.provider, kind, after.id, after.id]
  return {
    sql: `SELECT ${columns} FROM objects WHERE account_id = ? AND kind = ? AND listed_at IS NOT NULL ${beginning}
      ORDER BY listed_at ${direction}, id ${direction} LIMIT ?`,
    values: [accountId, kind, ...cursor, limit],
  }
}

/** A row as the ledger tells it. */
export function objectRecord(row: ObjectRow): ProviderObject {
  return {
    provider: row.provider,
    kind: row.kind,
    id: row.id,
    accountId: row.account_id,
    credential: row.credential,
    exchangeId: row.exchange_id,
    ...(row.dialect !== null && { dialect: row.dialect }),
    ...(row.facts !== null && { facts: JSON.parse(row.facts) }),
  }
}

/** The same, in a list. */
export function listedRecord(row: ObjectRow): ListedObject {
  return { ...objectRecord(row), createdAt: row.created_at }
}
