import { sql } from 'kysely'
import type { RecordReader } from './records.ts'

const foundMax = 100

/** The ids of keys by id, last four characters, or a part of the name, with their accounts; at most 100. */
export function findKeys(
  records: RecordReader,
  text: string,
): Promise<readonly { readonly id: string; readonly account_id: string }[]> {
  const part = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  return records.all(
    records.build
      .selectFrom('keys')
      .select(['id', 'account_id'])
      .where(where =>
        where.or([
          where('id', '=', text),
          where('last_four', '=', text),
          sql<boolean>`name LIKE ${part} ESCAPE '\\'`,
        ]),
      )
      .orderBy('id')
      .limit(foundMax),
  )
}
