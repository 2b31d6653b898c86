import type { Test } from 'tap'
import { systemClock } from '../../../lib/clock.ts'
import type { Clock } from '../../../lib/clock.ts'
import { openSqliteReader } from '../../../lib/stores/sqlite-reader.ts'
import type { ChargeReport } from '../../../lib/stores/sqlite-reader.ts'
import { openSqliteStore } from '../../../lib/stores/sqlite.ts'
import type { SqliteStore } from '../../../lib/stores/sqlite.ts'
import type { StoreUnderTest } from '../../contracts/store-under-test.ts'

export interface OpenedStore extends StoreUnderTest, SqliteStore {
  readonly file: string
  charges(accountId: string): ChargeReport[]
  restart(): Promise<OpenedStore>
}

interface OpenOptions {
  readonly durability?: 'strict' | 'relaxed'
  readonly clock?: Clock
}

/** Opens a SQLite store in a file, closed when the test ends. */
export async function openFile(t: Test, file: string, options: OpenOptions = {}): Promise<OpenedStore> {
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock, ...options })
  t.teardown(() => store.close())
  return {
    ...store,
    file,
    verify() {
      const reader = openSqliteReader(file)
      const breaches = reader.verify()
      reader.close()
      return breaches
    },
    charges(accountId) {
      const reader = openSqliteReader(file)
      const charges = [...reader.charges(accountId)]
      reader.close()
      return charges
    },
    async restart() {
      await store.close()
      return openFile(t, file, options)
    },
  }
}

/** Opens a new store in a folder of the test's own. */
export function openNew(t: Test, options: OpenOptions = {}): Promise<OpenedStore> {
  return openFile(t, `${t.testdir()}/data/gateway.db`, options)
}
