import { jobColumns } from '../shared/job-record.ts'
import type { JobRow } from '../shared/job-record.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** The writer's statements on jobs, prepared once. */
export function prepareJobStatements(database: SqliteDatabase) {
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
