import type { ChargeRecord } from '../../ledger/reports.ts'
import { budgetDay, dayStart } from '../../ledger/key-spending.ts'
import type { RecordReader } from './records.ts'
import type { RawBuilder, Sql } from 'kysely'

/** Sums since the beginning of today, and counts of what waits for a person. */
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
  /** Payments of which the provider reports something different. */
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
  const [row] = await records.all({ compile: () => query.compile(records.build) })
  if (row === undefined) throw new Error('the store returned no sums of today')
  return Object.fromEntries(Object.entries(row).map(([name, sum]) => [name, Number(sum)])) as Today
}

/** An account, a model, a key or an outcome, with its charges. */
interface Spender {
  readonly name: string
  readonly charges: number
  readonly micros: number
}

const columns = { account: 'account_id', model: 'model', key: 'key_id', outcome: 'outcome' } as const
type Column = (typeof columns)[keyof typeof columns]
const shownMax = 50

/**
 * Charges since a time, summed by a column, largest sum first, at most 50. Whole days in Moscow are read from their
 * sums; of a day that has begun before the time, the charges themselves are read.
 */
export async function readSpenders(
  records: RecordReader,
  by: keyof typeof columns,
  from: number,
): Promise<readonly Spender[]> {
  const column = columns[by]
  const begun = budgetDay(from)
  const isWhole = dayStart(begun) === from
  const parts = await Promise.all([
    readSums(records, column, isWhole ? begun : begun + 1),
    isWhole ? [] : readPart(records, column, { from, day: begun }),
  ])
  const sums = [...Map.groupBy(parts.flat(), one => one.name)].map(([name, ofName]) => ({
    name,
    charges: ofName.reduce((sum, one) => sum + one.charges, 0),
    micros: ofName.reduce((sum, one) => sum + one.micros, 0),
  }))
  const inOrder = (one: Spender, other: Spender): number =>
    other.micros - one.micros || (one.name < other.name ? -1 : 1)
  return sums.toSorted(inOrder).slice(0, shownMax)
}

async function readSums(records: RecordReader, column: Column, fromDay: number): Promise<readonly Spender[]> {
  const rows = await records.all(
    records.build
      .selectFrom('charge_sums')
      .select(one => [
        `${column} as name`,
        one.fn.sum('charges').as('charges'),
        one.fn.sum('spent_micros').as('micros'),
      ])
      .where('day', '>=', fromDay)
      .groupBy(column),
  )
  return rows.map(spenderOf)
}

/** The charges of a day from a time on, found by the ids in its sums. */
async function readPart(
  records: RecordReader,
  column: Column,
  { from, day }: { readonly from: number; readonly day: number },
): Promise<readonly Spender[]> {
  const { build } = records
  const [ids] = await records.all(
    build
      .selectFrom('charge_sums')
      .select(one => [one.fn.min('first_id').as('first'), one.fn.max('last_id').as('last')])
      .where('day', '=', day),
  )
  if (ids === undefined || ids.first === null) return []
  const rows = await records.all(
    build
      .selectFrom('charges')
      .select(one => [
        `${column} as name`,
        one.fn.countAll().as('charges'),
        one.fn.sum('amount_micros').as('micros'),
      ])
      .where('id', '>=', Number(ids.first))
      .where('id', '<=', Number(ids.last))
      .where('at', '>=', from)
      .where('at', '<', dayStart(day + 1))
      .where('revision', '=', 0)
      .groupBy(column),
  )
  return rows.map(spenderOf)
}

function spenderOf({ name, charges, micros }: Readonly<Record<keyof Spender, unknown>>): Spender {
  return { name: String(name), charges: Number(charges), micros: Number(micros) }
}

/** A charge as operators see it in the list of all charges. */
export interface ListedCharge extends Pick<
  ChargeRecord,
  'requestId' | 'sequence' | 'at' | 'keyId' | 'provider' | 'model' | 'outcome' | 'amountMicros'
> {
  readonly accountId: string
}

interface ChargeQuery {
  /** Empty: any request. */
  readonly requestId: string
  readonly accountId: string
  readonly model: string
  readonly outcome: string
  /** Milliseconds since the epoch; `from` is inclusive, `until` exclusive. */
  readonly from?: number
  readonly until?: number
  readonly isDescending?: boolean
  readonly limit: number
  readonly offset: number
}

/** Charges that are scanned for a model or an outcome, the first in the order of the list. */
const scannedMax = 5000

/**
 * Charges of all accounts, newest first by default. A search by model or outcome scans only the first of them, and days
 * are found by the ids in their sums, so that no search takes longer the more charges there are.
 */
export async function searchCharges(
  reader: RecordReader,
  query: ChargeQuery,
): Promise<readonly ListedCharge[]> {
  const { model, outcome, isDescending = true, limit, offset } = query
  let found = reader.build
    .selectFrom(candidates(reader, query, await idsOf(reader, query)).as('looked'))
    .selectAll()
    .orderBy('id', isDescending ? 'desc' : 'asc')
    .limit(limit)
    .offset(offset)
  if (model !== '') found = found.where('model', '=', model)
  if (outcome !== '') found = found.where('outcome', '=', outcome)
  return reader.all(found)
}

interface Ids {
  first?: number
  last?: number
}

/** The range of ids in which the charges of a period are. A day without charges has no sums: the nearest one counts. */
async function idsOf(reader: RecordReader, { accountId, from, until }: ChargeQuery): Promise<Ids> {
  const all = reader.build.selectFrom('charge_sums')
  // One account has few sums a day; all of them together have as many as there are customers.
  const sums = accountId === '' ? all : all.where('account_id', '=', accountId)
  const ids: Ids = {}
  if (from !== undefined) {
    const day = sums.select(one => one.fn.min('day').as('day')).where('day', '>=', budgetDay(from))
    const [row] = await reader.all(sums.select(one => one.fn.min('first_id').as('id')).where('day', '=', day))
    ids.first = Number(row?.id ?? Number.MAX_SAFE_INTEGER)
  }
  if (until !== undefined) {
    const day = sums.select(one => one.fn.max('day').as('day')).where('day', '<=', budgetDay(until))
    const [row] = await reader.all(sums.select(one => one.fn.max('last_id').as('id')).where('day', '=', day))
    ids.last = Number(row?.id ?? 0)
  }
  return ids
}

/** The charges of an account, a request and a period, as many as are scanned. */
function candidates(reader: RecordReader, query: ChargeQuery, { first, last }: Ids) {
  const { requestId, accountId, model, outcome, from, until, isDescending = true, limit, offset } = query
  let charges = reader.build
    .selectFrom('charges')
    .select([
      'id',
      'exchange_id as requestId',
      'sequence',
      'at',
      'account_id as accountId',
      'key_id as keyId',
      'provider',
      'model',
      'outcome',
      'amount_micros as amountMicros',
    ])
    .where('revision', '=', 0)
    .orderBy('id', isDescending ? 'desc' : 'asc')
    .limit(model === '' && outcome === '' ? limit + offset : scannedMax)
  if (requestId !== '') charges = charges.where('exchange_id', '=', requestId)
  if (accountId !== '') charges = charges.where('account_id', '=', accountId)
  if (first !== undefined) charges = charges.where('id', '>=', first)
  if (last !== undefined) charges = charges.where('id', '<=', last)
  if (from !== undefined) charges = charges.where('at', '>=', from)
  if (until !== undefined) charges = charges.where('at', '<', until)
  return charges
}

/** A hold of a request, or of a turn of a session. */
export interface FoundHold {
  readonly sequence: number
  readonly accountId: string
  readonly email: string | null
  readonly keyId: string
  readonly state: string
  readonly amountMicros: number
  readonly createdAt: number
}

/** The holds of one request; none when it was refused before a hold, or cost nothing. */
export function findRequest(records: RecordReader, exchangeId: string): Promise<readonly FoundHold[]> {
  return records.all(
    records.build
      .selectFrom('holds')
      .leftJoin('accounts', 'accounts.id', 'holds.account_id')
      .select([
        'holds.sequence',
        'holds.account_id as accountId',
        'accounts.email',
        'holds.key_id as keyId',
        'holds.state',
        'holds.amount_micros as amountMicros',
        'holds.created_at as createdAt',
      ])
      .where('holds.exchange_id', '=', exchangeId)
      .orderBy('holds.sequence'),
  )
}
