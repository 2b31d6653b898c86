import type { Test } from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openPostgresReports } from '../../../../lib/stores/postgres/postgres-reports.ts'
import { openPostgresStore } from '../../../../lib/stores/postgres/postgres.ts'
import type { PostgresStoreOptions } from '../../../../lib/stores/postgres/postgres.ts'
import { reading } from '../../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'

/** Opens a node on a database, closed when the test ends. */
export async function openNode(
  t: Test,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<StoreUnderTest> {
  const store = await openPostgresStore({ url, durability: 'strict', clock: systemClock, ...options })
  t.teardown(() => store.close())
  return {
    ...store,
    ...reading(() => openPostgresReports(url, options.clock ?? systemClock)),
    async restart() {
      await store.close()
      return openNode(t, url, options)
    },
  }
}
