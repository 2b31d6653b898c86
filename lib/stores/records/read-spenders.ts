import { budgetDay, dayStart } from '../../ledger/key-spending.ts'
import type { RecordReader } from './records.ts'

/** What most is charged for. */
export interface Spender {
  readonly name: string
  readonly charges: number
  readonly micros: number
}

const columns = { account: 'account_id', model: 'model', key: 'key_id', outcome: 'outcome' } as const
type Column = (typeof columns)[keyof typeof columns]
const shownMax = 50

/**
 * What was charged since a moment, the largest first, at most 50. Moscow's whole days are read from their sums; a day that
 * begins elsewhere has the charges of a part of one beside them.
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

/** The charges of a day from a moment on, found by the ids that its sums have. */
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

function spenderOf({
  name,
  charges,
  micros,
}: {
  readonly name: unknown
  readonly charges: unknown
  readonly micros: unknown
}): Spender {
  return { name: String(name), charges: Number(charges), micros: Number(micros) }
}
