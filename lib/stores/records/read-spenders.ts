import type { RecordReader } from './records.ts'

/** What most is charged for. */
interface Spender {
  readonly name: string
  readonly charges: number
  readonly micros: number
}

const columns = { account: 'account_id', model: 'model', key: 'key_id', outcome: 'outcome' } as const
const shownMax = 50

/** From the sums of days: no charge is read. The dearest first, at most 50. */
export async function readSpenders(
  records: RecordReader,
  by: keyof typeof columns,
  fromDay: number,
): Promise<readonly Spender[]> {
  const column = columns[by]
  const rows = await records.all(
    records.build
      .selectFrom('charge_sums')
      .select(one => [
        `${column} as name`,
        one.fn.sum('charges').as('charges'),
        one.fn.sum('spent_micros').as('micros'),
      ])
      .where('day', '>=', fromDay)
      .groupBy(column)
      .orderBy('micros', 'desc')
      .orderBy('name')
      .limit(shownMax),
  )
  return rows.map(({ name, charges, micros }) => ({
    name: String(name),
    charges: Number(charges),
    micros: Number(micros),
  }))
}
