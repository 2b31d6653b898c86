import { contains } from './contains.ts'
import type { RecordReader } from './records.ts'

const foundMax = 100

/** The ids of keys by id, last four characters, or a part of the name, with their accounts; at most 100. */
export function findKeys(
  records: RecordReader,
  text: string,
): Promise<readonly { readonly id: string; readonly account_id: string }[]> {
  return records.all(
    records.build
      .selectFrom('keys')
      .select(['id', 'account_id'])
      .where(where =>
        where.or([where('id', '=', text), where('last_four', '=', text), contains('name', text)]),
      )
      .orderBy('id')
      .limit(foundMax),
  )
}
