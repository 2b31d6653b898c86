import type { Clock } from '../../platform/clock.ts'
import type { Job, JobName, NewJob } from '../../ledger/job.ts'
import type { ChargeRequest, ChargeResult, HoldRequest } from '../../ledger/ledger.ts'
import { paidFlags, priceCharge } from '../../ledger/price-charge.ts'
import { newId } from '../../platform/new-id.ts'
import { claimStatement, jobRecord, postponeStatement, type JobRow } from '../shared/stored-ledger.ts'
import { postgresCharge, type PostgresAnswer, type PostgresOperation } from './postgres-operation.ts'
import { storable } from '../shared/store-operation.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import type { WriteQueue } from '../shared/write-queue.ts'
import { kept, type Ticket } from '../shared/write-batch.ts'

interface PostgresJobsOptions {
  readonly queue: WriteQueue<PostgresOperation>
  readonly queries: StoreQueries
  readonly clock: Clock
  /** Resolves when an operation is written. */
  readonly durable: (ticket: Ticket) => Promise<PostgresAnswer>
}

/** Nodes that claim due jobs at the same time share them, and none waits for another. */
const shared = ' FOR UPDATE SKIP LOCKED'

/** Jobs on PostgreSQL: ending a job locks its account, so that only one of several nodes does it. */
export class PostgresJobs {
  readonly #options: PostgresJobsOptions

  constructor(options: PostgresJobsOptions) {
    this.#options = options
  }

  async open(hold: HoldRequest, job: NewJob): Promise<boolean> {
    const { ending } = await this.#apply({
      kind: 'job',
      account: hold.accountId,
      exchange: hold.exchangeId,
      sequence: hold.sequence,
      key: hold.keyId,
      ...names(job),
      owner: job.credential,
      dialect: job.dialect,
      operation: job.operation,
      model: storable(job.model),
      details: storable(JSON.stringify(job.facts)),
      due: job.nextPollAt,
      expires: job.deadlineAt,
      at: this.#options.clock.now(),
    })
    return ending === 'job_opened'
  }

  async due(limit: number, leaseMs: number): Promise<readonly Job[]> {
    const { queries, clock } = this.#options
    const { sql, values } = claimStatement(clock.now(), leaseMs, limit, shared)
    return (await queries.all<JobRow>(sql, values)).map(jobRecord)
  }

  async charge(job: Job, request: ChargeRequest): Promise<ChargeResult | undefined> {
    const priced = priceCharge(request)
    const { ending, one, two } = await this.#apply({
      ...postgresCharge(job, this.#options.clock.now(), request, priced),
      ...names(job),
      ended_by: newId(),
    })
    if (ending !== 'charged') return undefined
    const overrunMicros = two ?? 0
    return { amountMicros: one ?? 0, overrunMicros, flags: paidFlags(priced.flags, overrunMicros) }
  }

  async release(job: Job): Promise<boolean> {
    const { ending } = await this.#apply({
      kind: 'release',
      account: job.accountId,
      exchange: job.exchangeId,
      sequence: job.sequence,
      state: 'released',
      at: this.#options.clock.now(),
      ...names(job),
      ended_by: newId(),
    })
    return ending === 'released'
  }

  async postpone({ provider, kind, id }: JobName, nextPollAt: number): Promise<void> {
    const { sql, values } = postponeStatement({ provider, kind, id: storable(id) }, nextPollAt)
    await this.#options.queries.all(sql, values)
  }

  #apply(operation: PostgresOperation): Promise<PostgresAnswer> {
    return this.#options.durable(this.#options.queue.add(operation, kept))
  }
}

function names({ provider, kind, id }: JobName) {
  return { provider, job_kind: kind, job: storable(id) }
}
