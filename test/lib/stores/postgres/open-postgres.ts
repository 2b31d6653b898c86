import type { Test } from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openPostgresQueries } from '../../../../lib/stores/postgres/postgres-queries.ts'
import { storeReports } from '../../../../lib/stores/shared/store-reports.ts'
import type { Reports } from '../../../../lib/ledger/reports.ts'
import { openPostgresStore } from '../../../../lib/stores/postgres/postgres.ts'
import type { PostgresStoreOptions } from '../../../../lib/stores/postgres/postgres.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'

/** Opens a node on a database. It is closed when the test ends. */
export async function openNode(
  t: Test,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<StoreUnderTest> {
  const store = await openPostgresStore({ url, durability: 'strict', clock: systemClock, ...options })
  // All reads share one connection while the node is open: a model reads the whole store after each of its steps.
  let opened: Promise<Reports> | undefined
  const open = async (): Promise<Reports> =>
    storeReports(await openPostgresQueries(url), { clock: options.clock ?? systemClock })
  const reports = (): Promise<Reports> => (opened ??= open())
  const close = async (): Promise<void> => {
    await store.close()
    const last = await opened
    opened = undefined
    await last?.close()
  }
  t.teardown(close)
  return {
    ...store,
    close,
    verify: async () => (await reports()).verify(),
    charges: async accountId => Array.fromAsync((await reports()).charges(accountId)),
    async restart() {
      await close()
      return openNode(t, url, options)
    },
  }
}
