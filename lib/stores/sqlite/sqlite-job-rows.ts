import { jobColumns } from '../shared/job-record.ts'
import type { JobRow } from '../shared/job-record.ts'
import { OperationRefusedError } from '../shared/operation-refused-error.ts'
import type { SqliteEntries } from './sqlite-entries.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { EndJobOperation, OpenJobOperation } from '../shared/store-operation.ts'

/** The writer's statements on jobs, prepared once. */
function prepareJobStatements(database: SqliteDatabase) {
  return {
    job: database.prepare(
      `INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect,
         operation, model, facts, next_poll_at, deadline_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    handOver: database.prepare(
      `UPDATE holds SET owner = 'jobs', expires_at = ? WHERE exchange_id = ? AND sequence = ? AND state = 'open'`,
    ),
    endJob: database.prepare(
      `UPDATE jobs SET state = ?, resolved_at = ? WHERE provider = ? AND kind = ? AND id = ? AND state = 'open'`,
    ),
    dueJobs: database.prepare<[number, number, number], JobRow>(
      `UPDATE jobs SET next_poll_at = ? WHERE (provider, kind, id) IN
         (SELECT provider, kind, id FROM jobs WHERE state = 'open' AND next_poll_at <= ?
          ORDER BY next_poll_at LIMIT ?) RETURNING ${jobColumns}`,
    ),
    postponeJob: database.prepare(
      `UPDATE jobs SET next_poll_at = ?, polls = polls + 1
       WHERE provider = ? AND kind = ? AND id = ? AND state = 'open'`,
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
  open(job: OpenJobOperation): boolean {
    const [, , , , exchangeId, sequence, accountId] = job
    const deadlineAt = job[14]
    const at = job[15]
    if (this.#statements.job.run(job.slice(1)).changes === 0) {
      this.#entries.resolve(['release', exchangeId, sequence, accountId, 'released', at])
      return false
    }
    if (this.#statements.handOver.run(deadlineAt, exchangeId, sequence).changes !== 1) {
      throw new OperationRefusedError('hold_not_open', `the hold ${exchangeId}/${sequence} is not open`)
    }
    return true
  }

  /** @throws OperationRefusedError job_not_open, hold_not_open */
  end([, provider, kind, id, ending]: EndJobOperation): undefined {
    const [state, at] =
      ending[0] === 'charge' ? (['charged', ending[5]] as const) : (['released', ending[5]] as const)
    if (this.#statements.endJob.run(state, at, provider, kind, id).changes !== 1) {
      throw new OperationRefusedError('job_not_open', `the ${kind} ${id} is not open`)
    }
    if (ending[0] === 'charge') this.#entries.charge(ending)
    else this.#entries.resolve(ending)
  }

  due(until: number, now: number, limit: number): readonly JobRow[] {
    return this.#statements.dueJobs.all(until, now, limit)
  }

  postpone(nextPollAt: number, provider: string, kind: string, id: string): undefined {
    this.#statements.postponeJob.run(nextPollAt, provider, kind, id)
  }
}
