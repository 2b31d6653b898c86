import { budgetDay } from '../../ledger/key-spending.ts'
import type { RecordReader } from './records.ts'

/** A charge as operators meet it in a list of all. */
export interface ListedCharge {
  readonly requestId: string
  readonly sequence: number
  readonly at: number
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly model: string
  readonly outcome: string
  readonly amountMicros: number
}

interface ChargeQuery {
  /** Empty: of any. */
  readonly requestId: string
  readonly accountId: string
  readonly model: string
  readonly outcome: string
  /** Milliseconds since the epoch: from one on, and before another. */
  readonly from?: number
  readonly until?: number
  readonly isDescending?: boolean
  readonly limit: number
  readonly offset: number
}

/** Charges that are looked through for a model or an outcome, the first in the order of the list. */
const lookedMax = 5000

/**
 * Charges of all accounts, the newest first unless said. What is sought by model or outcome is sought among the first of
 * them, and days are found by the ids that their sums have, so that no question takes longer the more charges there are.
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

/** Between which ids the charges of some time lie. A day without charges has no sums: the nearest one is taken. */
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

/** The charges of an account, a request and some time, as many as are looked through. */
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
    .limit(model === '' && outcome === '' ? limit + offset : lookedMax)
  if (requestId !== '') charges = charges.where('exchange_id', '=', requestId)
  if (accountId !== '') charges = charges.where('account_id', '=', accountId)
  if (first !== undefined) charges = charges.where('id', '>=', first)
  if (last !== undefined) charges = charges.where('id', '<=', last)
  if (from !== undefined) charges = charges.where('at', '>=', from)
  if (until !== undefined) charges = charges.where('at', '<', until)
  return charges
}
