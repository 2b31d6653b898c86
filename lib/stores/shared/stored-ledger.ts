import type { Job, JobName } from '../../ledger/job.ts'
import type {
  ListedObject,
  ObjectLedger,
  ObjectQuery,
  ProviderObject,
  ProviderObjectName,
  StoredUpload,
  UploadLedger,
  UploadLimits,
} from '../../ledger/ledger.ts'
import type { Price } from '../../money/price.ts'
import type { Clock } from '../../platform/clock.ts'
import { listedKinds, type Meters, type ObjectKind } from '../../money/usage.ts'
import type { ledgerColumns } from './ledger-columns.ts'
import { chargedUsage, selectCharged, type ChargedRow } from './report-rows.ts'
import type { RowOf } from './store-schema.ts'
import type { StoreQueries, SqlStatement } from './store-queries.ts'
import { forgetUpload, keepStatements, reserveStatements, type UploadSums } from './stored-uploads.ts'
import { storedPricesOf } from './stored-prices.ts'

/** A hold that is not resolved within this time expires: no exchange lasts as long. */
export const holdMs = 24 * 60 * 60 * 1000

/** A job, with the amount of its hold. */
export type JobRow = RowOf<typeof ledgerColumns.jobs> & { readonly held_micros: number }

const jobColumns = `*, (SELECT amount_micros FROM holds
  WHERE holds.exchange_id = jobs.exchange_id AND holds.sequence = jobs.sequence) AS held_micros`

const selectJob = `SELECT ${jobColumns} FROM jobs WHERE provider = ? AND kind = ? AND id = ?`

/**
 * Returns open jobs that are due, and postpones them by the time of a lease.
 * @param lock the locking clause by which concurrent callers share the jobs
 */
export function claimStatement(now: number, leaseMs: number, limit: number, lock = ''): SqlStatement {
  return {
    sql: `UPDATE jobs SET next_poll_at = ? WHERE (provider, kind, id) IN
      (SELECT provider, kind, id FROM jobs WHERE state = 'open' AND next_poll_at <= ?
       ORDER BY next_poll_at LIMIT ?${lock}) RETURNING ${jobColumns}`,
    values: [now + leaseMs, now, limit],
  }
}

/** Sets when an open job is polled next. */
export function postponeStatement({ provider, kind, id }: JobName, nextPollAt: number): SqlStatement {
  return {
    sql: `UPDATE jobs SET next_poll_at = ?, polls = polls + 1
      WHERE provider = ? AND kind = ? AND id = ? AND state = 'open'`,
    values: [nextPollAt, provider, kind, id],
  }
}

/** The job of a row. */
export function jobRecord(row: JobRow): Job {
  return {
    provider: row.provider,
    kind: row.kind,
    id: row.id,
    exchangeId: row.exchange_id,
    sequence: row.sequence,
    accountId: row.account_id,
    keyId: row.key_id,
    heldMicros: row.held_micros,
    credential: row.credential,
    dialect: row.dialect,
    operation: row.operation,
    model: row.model,
    facts: JSON.parse(row.facts),
    state: row.state,
    nextPollAt: row.next_poll_at,
    polls: row.polls,
    deadlineAt: row.deadline_at,
    createdAt: row.created_at,
  }
}

type ObjectRow = RowOf<typeof ledgerColumns.objects>

const selectObject = 'SELECT * FROM objects WHERE provider = ? AND kind = ? AND id = ?'

const unlistObject =
  'UPDATE objects SET listed_at = NULL WHERE provider = ? AND kind = ? AND id = ? AND listed_at IS NOT NULL'

/** When an object of a kind, recorded at a time, enters lists; null for kinds that clients cannot list. */
export function listedAt(kind: ObjectKind, at: number): number | null {
  return (listedKinds as readonly ObjectKind[]).includes(kind) ? at : null
}

/** Selects a page of a list. */
function selectListed({ accountId, kind, order, after, limit }: ObjectQuery): SqlStatement {
  const [behind, direction] = order === 'newest-first' ? ['<', 'DESC'] : ['>', 'ASC']
  // The object may have been unlisted since, but its row still gives the position.
  const place = '(SELECT created_at FROM objects WHERE provider = ? AND kind = ? AND id = ?)'
  const beginning = after === undefined ? '' : `AND (listed_at, id) ${behind} (${place}, ?)`
  const cursor = after === undefined ? [] : [after.provider, kind, after.id, after.id]
  return {
    sql: `SELECT * FROM objects WHERE account_id = ? AND kind = ? AND listed_at IS NOT NULL ${beginning}
      ORDER BY listed_at ${direction}, id ${direction} LIMIT ?`,
    values: [accountId, kind, ...cursor, limit],
  }
}

function objectRecord(row: ObjectRow): ProviderObject {
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

/** The part of a ledger that both stores share: objects, uploads, jobs, prices, and usage that was charged. */
export abstract class StoredLedger implements ObjectLedger, UploadLedger {
  readonly #queries: Pick<StoreQueries, 'all'>
  readonly #clock: Clock

  constructor(queries: Pick<StoreQueries, 'all'>, clock: Clock) {
    this.#queries = queries
    this.#clock = clock
  }

  async recordObject(object: ProviderObject): Promise<void> {
    // Polling a job reports the same object repeatedly, which needs no write.
    const known = await this.findObject(object.provider, object.kind, object.id)
    if (known === undefined) await this.addObject(object)
  }

  async findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined> {
    const [row] = await this.#queries.all<ObjectRow>(selectObject, [provider, kind, this.storedId(id)])
    return row && objectRecord(row)
  }

  async listObjects(query: ObjectQuery): Promise<readonly ListedObject[]> {
    const { after } = query
    const stored =
      after === undefined ? query : { ...query, after: { ...after, id: this.storedId(after.id) } }
    const { sql, values } = selectListed(stored)
    const rows = await this.#queries.all<ObjectRow>(sql, values)
    return rows.map(row => ({ ...objectRecord(row), createdAt: row.created_at }))
  }

  async unlistObject({ provider, kind, id: givenId }: ProviderObjectName): Promise<void> {
    const id = this.storedId(givenId)
    const unlisted = { sql: unlistObject, values: [provider, kind, id] }
    await this.change([unlisted, forgetUpload({ provider, kind, id })])
  }

  async reserveUpload(
    upload: Parameters<UploadLedger['reserveUpload']>[0],
    limits: UploadLimits,
  ): ReturnType<UploadLedger['reserveUpload']> {
    const stored = { ...upload, id: this.storedId(upload.id) }
    const rows = await this.change(reserveStatements(stored, limits, this.#clock.now()))
    const { reserved, ...sums } = rows[0] as UploadSums
    return reserved === 0 ? sums : undefined
  }

  async keepUpload(from: ProviderObjectName, upload: StoredUpload): Promise<void> {
    const before = { ...from, id: this.storedId(from.id) }
    await this.change(keepStatements(before, { ...upload, id: this.storedId(upload.id) }))
  }

  async findJob({ provider, kind, id }: JobName): Promise<Job | undefined> {
    const [row] = await this.#queries.all<JobRow>(selectJob, [provider, kind, this.storedId(id)])
    return row && jobRecord(row)
  }

  findPrices(hashes: readonly string[]): Promise<ReadonlyMap<string, Price>> {
    return storedPricesOf(this.#queries, hashes)
  }

  async findUsage(exchangeId: string): Promise<Meters> {
    const [row] = await this.#queries.all<ChargedRow>(selectCharged, [exchangeId])
    return chargedUsage(row)
  }

  /** Writes an object that is not known yet; resolves when it is on disk. */
  protected abstract addObject(object: ProviderObject): Promise<void>

  /** Runs statements as one transaction; resolves with the rows of the last one when they are on disk. */
  protected abstract change(statements: readonly SqlStatement[]): Promise<readonly object[]>

  /** A provider's id in the form that the store holds. */
  protected storedId(id: string): string {
    return id
  }
}
