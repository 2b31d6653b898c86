import type { Test } from 'tap'
import { systemClock } from '../../../lib/platform/clock.ts'
import { storeReports } from '../../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../../lib/stores/sqlite/sqlite-queries.ts'
import { openSqliteStore } from '../../../lib/stores/sqlite/sqlite.ts'
import type { SqliteStoreOptions } from '../../../lib/stores/sqlite/sqlite.ts'
import type { Store } from '../../../lib/stores/store.ts'
import { reading } from '../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../contracts/store-under-test.ts'

export interface OpenedStore extends StoreUnderTest {
  readonly file: string
  restart(): Promise<OpenedStore>
}

type OpenOptions = Partial<Omit<SqliteStoreOptions, 'file'>>

/** Opens a SQLite store in a file. It is closed when the test ends. */
export async function openFile(t: Test, file: string, options: OpenOptions = {}): Promise<OpenedStore> {
  const store: Store = await openSqliteStore({ file, durability: 'strict', clock: systemClock, ...options })
  t.teardown(() => store.close())
  return {
    ...store,
    file,
    ...reading(async () => storeReports(new SqliteQueries(file), { clock: options.clock ?? systemClock })),
    async restart() {
      await store.close()
      return openFile(t, file, options)
    },
  }
}

/** Opens a new SQLite store in the test's own folder. It is closed when the test ends. */
export function openNew(t: Test, options: OpenOptions = {}): Promise<OpenedStore> {
  return openFile(t, `${t.testdir()}/data/gateway.db`, options)
}
