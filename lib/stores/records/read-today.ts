import type { RawBuilder, Sql } from 'kysely'
import type { RecordReader } from './records.ts'

/** What happened since today began, and what waits for a person. */
const sums = {
  paidMicros: (sql, from) =>
    sql`SELECT coalesce(sum(amount_micros), 0) FROM payments WHERE credited_at >= ${from}`,
  transferredKopecks: (
    sql,
    from,
  ) => sql`SELECT coalesce(sum(amount_kopecks), 0) FROM transfer_changes AS latest
    JOIN transfers ON latest.transfer_id = transfers.id AND latest.revision = transfers.revision
    WHERE latest.at >= ${from} AND transfers.state = 'credited'`,
  refundedMicros: (sql, from) =>
    sql`SELECT coalesce(sum(amount_micros), 0) FROM refunds WHERE state = 'succeeded' AND ended_at >= ${from}`,
  balancesMicros: sql => sql`SELECT coalesce(sum(balance_micros), 0) FROM accounts WHERE kind = 'customer'`,
  debtsMicros: sql => sql`SELECT coalesce(sum(debt_micros), 0) FROM accounts WHERE debt_micros > 0`,
  indebted: sql => sql`SELECT count(*) FROM accounts WHERE debt_micros > 0`,
  blocked: sql => sql`SELECT count(*) FROM accounts WHERE blocked_at IS NOT NULL`,
  /** Transfers without an owner. */
  queued: sql => sql`SELECT count(*) FROM transfers WHERE state = 'queued'`,
  /** Payments of which the provider says something else. */
  differing: sql => sql`SELECT count(*) FROM payments WHERE difference IS NOT NULL`,
  pending: sql => sql`SELECT count(*) FROM payments WHERE state = 'pending'`,
  heldRates: sql => sql`SELECT count(*) FROM exchange_rates WHERE state = 'held'`,
} as const satisfies Readonly<Record<string, (sql: Sql, from: number) => RawBuilder<unknown>>>

type Today = Readonly<Record<keyof typeof sums, number>>

/** @param from when today began */
export async function readToday(records: RecordReader, from: number): Promise<Today> {
  const { sql } = records
  const columns = Object.entries(sums).map(([name, sum]) => sql`(${sum(sql, from)}) AS ${sql.ref(name)}`)
  const query = sql<Readonly<Record<keyof Today, number | string>>>`SELECT ${sql.join(columns)}`
  const [row] = await records.all<Readonly<Record<keyof Today, number | string>>>({
    compile: () => query.compile(records.build),
  })
  if (row === undefined) throw new Error('the store did not answer what happened today')
  return Object.fromEntries(Object.entries(row).map(([name, sum]) => [name, Number(sum)])) as Today
}
