import { AccountError } from '../../accounts/accounts.ts'
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
  type ObjectRow,
} from '../shared/object-record.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import { storable } from '../shared/storable-text.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import type { OperationOwner, Ticket } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

interface PostgresObjectsOptions {
  readonly queue: WriteQueue<PostgresOperation>
  readonly queries: StoreQueries
  readonly clock: Clock
  /** Resolves when an operation is written. */
  readonly durable: (ticket: Ticket) => Promise<PostgresAnswer>
}

const kept: OperationOwner = { isKept: true }

/** What providers keep, on PostgreSQL. */
export class PostgresObjects implements ObjectLedger {
  readonly #options: PostgresObjectsOptions

  constructor(options: PostgresObjectsOptions) {
    this.#options = options
  }

  async recordObject(object: ProviderObject): Promise<void> {
    const { provider, kind, id, accountId, credential, exchangeId, dialect, facts } = object
    // Polling a job names the same object again and again, which needs no write.
    if ((await this.findObject(provider, kind, id)) !== undefined) return
    const { queue, clock, durable } = this.#options
    const at = clock.now()
    const listed = listedAt(kind, at)
    const ticket = queue.add(
      {
        kind: 'object',
        account: accountId,
        exchange: exchangeId,
        at,
        provider,
        operation: kind,
        lines: storable(id),
        owner: credential,
        details: facts === undefined ? null : JSON.stringify(facts),
        ...(dialect !== undefined && { dialect }),
        ...(listed !== null && { due: listed }),
      },
      kept,
    )
    const { ending } = await durable(ticket)
    if (ending !== 'done') throw new AccountError(ending, `there is no account ${accountId}`)
  }

  async findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined> {
    const [row] = await this.#options.queries.all<ObjectRow>(selectObject, [provider, kind, storable(id)])
    return row && objectRecord(row)
  }

  async listObjects(query: ObjectQuery): Promise<readonly ListedObject[]> {
    const { after } = query
    const stored = after === undefined ? query : { ...query, after: { ...after, id: storable(after.id) } }
    const { sql, values } = selectListed(stored)
    return (await this.#options.queries.all<ObjectRow>(sql, values)).map(listedRecord)
  }

  async unlistObject({ provider, kind, id }: ProviderObjectName): Promise<void> {
    await this.#options.queries.all(unlistObject, [provider, kind, storable(id)])
  }
}
