import type { Clock } from '../../platform/clock.ts'
import type {
  ListedObject,
  ObjectLedger,
  ObjectQuery,
  ProviderObject,
  ProviderObjectName,
} from '../../ledger/object-ledger.ts'
import type { ObjectKind } from '../../money/usage.ts'
import {
  listedAt,
  listedRecord,
  objectRecord,
  selectListed,
  selectObject,
  unlistObject,
} from '../shared/stored-objects.ts'
import type { ObjectRow } from '../shared/stored-objects.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
import type { OperationOwner, Ticket } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

interface SqliteObjectsOptions {
  readonly queue: WriteQueue
  readonly reader: SqliteDatabase
  readonly clock: Clock
  /** Resolves when an operation is on the disk. */
  readonly durable: (ticket: Ticket) => Promise<void>
}

const kept: OperationOwner = { isKept: true }

/** What providers keep, on SQLite. */
export class SqliteObjects implements ObjectLedger {
  readonly #options: SqliteObjectsOptions
  readonly #find: SqliteStatement

  constructor(options: SqliteObjectsOptions) {
    this.#options = options
    this.#find = options.reader.prepare(selectObject)
  }

  async recordObject(object: ProviderObject): Promise<void> {
    const { provider, kind: objectKind, id, accountId, credential, exchangeId, dialect = null } = object
    const facts = object.facts === undefined ? null : JSON.stringify(object.facts)
    // Polling a job names the same object again and again, which needs no write.
    if (this.#find.get(provider, objectKind, id) !== undefined) return
    const { queue, clock, durable } = this.#options
    const at = clock.now()
    const name = { kind: 'object', provider, objectKind, id } as const
    const owner = { accountId, credential, exchangeId }
    await durable(
      queue.add({ ...name, ...owner, dialect, facts, at, listedAt: listedAt(objectKind, at) }, kept),
    )
  }

  async findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined> {
    const row = this.#find.get(provider, kind, id) as ObjectRow | undefined
    return row && objectRecord(row)
  }

  async listObjects(query: ObjectQuery): Promise<readonly ListedObject[]> {
    const { sql, values } = selectListed(query)
    const rows = this.#options.reader.prepare(sql).all(...values) as ObjectRow[]
    return rows.map(listedRecord)
  }

  async unlistObject({ provider, kind, id }: ProviderObjectName): Promise<void> {
    const { queue, durable } = this.#options
    const statements = [{ sql: unlistObject, values: [provider, kind, id] }]
    await durable(queue.add({ kind: 'statements', statements }, kept))
  }
}
