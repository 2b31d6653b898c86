import { sql } from 'kysely'
import type { RecordReader } from './records.ts'

/** What happened since today began, and what waits for a person. */
interface Today {
  readonly paidMicros: number
  readonly transferredKopecks: number
  readonly refundedMicros: number
  readonly balancesMicros: number
  readonly debtsMicros: number
  readonly indebted: number
  readonly blocked: number
  /** Transfers without an owner. */
  readonly queued: number
  /** Payments of which the provider says something else. */
  readonly differing: number
  readonly pending: number
  readonly heldRates: number
}

/** @param from when today began */
export async function readToday(records: RecordReader, from: number): Promise<Today> {
  const query = sql<Readonly<Record<keyof Today, number | string>>>`SELECT
    (SELECT coalesce(sum(amount_micros), 0) FROM payments WHERE credited_at >= ${from}) AS "paidMicros",
    (SELECT coalesce(sum(amount_kopecks), 0) FROM transfer_changes AS latest JOIN transfers
       ON latest.transfer_id = transfers.id AND latest.revision = transfers.revision
     WHERE latest.at >= ${from} AND transfers.state = 'credited') AS "transferredKopecks",
    (SELECT coalesce(sum(amount_micros), 0) FROM refunds WHERE state = 'succeeded' AND ended_at >= ${from})
      AS "refundedMicros",
    (SELECT coalesce(sum(balance_micros), 0) FROM accounts WHERE kind = 'customer') AS "balancesMicros",
    (SELECT coalesce(sum(debt_micros), 0) FROM accounts WHERE debt_micros > 0) AS "debtsMicros",
    (SELECT count(*) FROM accounts WHERE debt_micros > 0) AS "indebted",
    (SELECT count(*) FROM accounts WHERE blocked_at IS NOT NULL) AS "blocked",
    (SELECT count(*) FROM transfers WHERE state = 'queued') AS "queued",
    (SELECT count(*) FROM payments WHERE difference IS NOT NULL) AS "differing",
    (SELECT count(*) FROM payments WHERE state = 'pending') AS "pending",
    (SELECT count(*) FROM exchange_rates WHERE state = 'held') AS "heldRates"`
  const [row] = await records.all<Readonly<Record<keyof Today, number | string>>>({
    compile: () => query.compile(records.build),
  })
  if (row === undefined) throw new Error('the store did not answer what happened today')
  return {
    paidMicros: Number(row.paidMicros),
    transferredKopecks: Number(row.transferredKopecks),
    refundedMicros: Number(row.refundedMicros),
    balancesMicros: Number(row.balancesMicros),
    debtsMicros: Number(row.debtsMicros),
    indebted: Number(row.indebted),
    blocked: Number(row.blocked),
    queued: Number(row.queued),
    differing: Number(row.differing),
    pending: Number(row.pending),
    heldRates: Number(row.heldRates),
  }
}
