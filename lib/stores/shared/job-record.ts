import type { DialectName } from '../../dialects/dialect.ts'
import type { Job } from '../../ledger/job.ts'
import type { ObjectKind } from '../../money/usage.ts'

/** A row of `jobs`, with what its hold sets aside. */
export interface JobRow {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
  readonly exchange_id: string
  readonly sequence: number
  readonly account_id: string
  readonly key_id: string
  readonly credential: string
  readonly dialect: DialectName
  readonly operation: string
  readonly model: string
  /** JSON. */
  readonly facts: string
  readonly state: Job['state']
  readonly next_poll_at: number
  readonly polls: number
  readonly deadline_at: number
  readonly created_at: number
  readonly held_micros: number
}

/** The columns of a `JobRow`, in a statement on `jobs`. */
export const jobColumns = `*, (SELECT amount_micros FROM holds
  WHERE holds.exchange_id = jobs.exchange_id AND holds.sequence = jobs.sequence) AS held_micros`

/** Takes the job by its name, in the order of `JobName`. */
export const selectJob = `SELECT ${jobColumns} FROM jobs WHERE provider = ? AND kind = ? AND id = ?`

/** A row as the ledger tells it. */
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
