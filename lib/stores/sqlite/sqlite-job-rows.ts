import { releaseOperation } from '../shared/charge-operation.ts'
import { jobColumns } from '../shared/job-record.ts'
import type { JobRow } from '../shared/job-record.ts'
import { OperationRefusedError } from '../shared/operation-refused-error.ts'
import { notOpen } from './sqlite-entries.ts'
import type { SqliteEntries } from './sqlite-entries.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type {
  DueJobsOperation,
  EndJobOperation,
  JobOperation,
  PostponeJobOperation,
} from '../shared/store-operation.ts'

/** The writer's statements on jobs, prepared once. */
function prepareJobStatements(database: SqliteDatabase) {
  return {
    job: database.prepare<JobOperation>(
      `INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect,
         operation, model, facts, next_poll_at, deadline_at, created_at)
       VALUES (@provider, @jobKind, @id, @exchangeId, @sequence, @accountId, @keyId, @credential, @dialect,
         @operation, @model, @facts, @nextPollAt, @deadlineAt, @at) ON CONFLICT DO NOTHING`,
    ),
    handOver: database.prepare<JobOperation>(
      `UPDATE holds SET owner = 'jobs', expires_at = @deadlineAt
       WHERE exchange_id = @exchangeId AND sequence = @sequence AND state = 'open'`,
    ),
    endJob: database.prepare(
      `UPDATE jobs SET state = @state, resolved_at = @at
       WHERE provider = @provider AND kind = @jobKind AND id = @id AND state = 'open'`,
    ),
    dueJobs: database.prepare<DueJobsOperation, JobRow>(
      `UPDATE jobs SET next_poll_at = @until WHERE (provider, kind, id) IN
         (SELECT provider, kind, id FROM jobs WHERE state = 'open' AND next_poll_at <= @now
          ORDER BY next_poll_at LIMIT @limit) RETURNING ${jobColumns}`,
    ),
    postponeJob: database.prepare<PostponeJobOperation>(
      `UPDATE jobs SET next_poll_at = @nextPollAt, polls = polls + 1
       WHERE provider = @provider AND kind = @jobKind AND id = @id AND state = 'open'`,
    ),
  }
}

/** Writes jobs within the writer's transaction. */
export class SqliteJobRows {
  readonly #statements: ReturnType<typeof prepareJobStatements>
  readonly #entries: SqliteEntries

  constructor(database: SqliteDatabase, entries: SqliteEntries) {
    this.#statements = prepareJobStatements(database)
    this.#entries = entries
  }

  /** Answers false for a job that is known already, and releases the hold. */
  open(job: JobOperation): boolean {
    if (this.#statements.job.run(job).changes === 0) {
      this.#entries.resolve(releaseOperation(job, 'released', job.at))
      return false
    }
    if (this.#statements.handOver.run(job).changes !== 1) throw notOpen(job)
    return true
  }

  /** @throws OperationRefusedError job_not_open, hold_not_open */
  end({ provider, jobKind, id, ending }: EndJobOperation): undefined {
    const state = ending.kind === 'charge' ? 'charged' : 'released'
    if (this.#statements.endJob.run({ provider, jobKind, id, state, at: ending.at }).changes !== 1) {
      throw new OperationRefusedError('job_not_open', `the ${jobKind} ${id} is not open`)
    }
    if (ending.kind === 'charge') this.#entries.charge(ending)
    else this.#entries.resolve(ending)
  }

  due(operation: DueJobsOperation): readonly JobRow[] {
    return this.#statements.dueJobs.all(operation)
  }

  postpone(operation: PostponeJobOperation): undefined {
    this.#statements.postponeJob.run(operation)
  }
}
