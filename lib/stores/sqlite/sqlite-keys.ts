import type { KeyRecord } from '../../accounts/accounts.ts'
import { keyRecord } from '../shared/key-record.ts'
import { openSqliteFile } from './sqlite-queries.ts'
import type { KeyRow } from '../shared/store-operation.ts'

/**
 * All keys of a store, by their digest, beside whoever writes it.
 * @throws StoreError when it cannot be read
 */
export function* readSqliteKeys(file: string): Generator<readonly [digest: string, key: KeyRecord]> {
  const database = openSqliteFile(file)
  try {
    for (const row of database.prepare<[], KeyRow>('SELECT * FROM keys').iterate())
      yield [row.digest, keyRecord(row)]
  } finally {
    database.close()
  }
}
