import type { Test } from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openPostgresReports } from '../../../../lib/stores/postgres/postgres-reports.ts'
import type { Reports } from '../../../../lib/ledger/reports.ts'
import { openPostgresStore } from '../../../../lib/stores/postgres/postgres.ts'
import type { PostgresStoreOptions } from '../../../../lib/stores/postgres/postgres.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'

/** Opens a node on a database, closed when the test ends. */
export async function openNode(
  t: Test,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<StoreUnderTest> {
  const store = await openPostgresStore({ url, durability: 'strict', clock: systemClock, ...options })
  // One connection reads as long as the node is open: a model reads the whole store after each of its steps.
  let opened: Promise<Reports> | undefined
  const reports = (): Promise<Reports> => (opened ??= openPostgresReports(url, options.clock ?? systemClock))
  const close = async (): Promise<void> => {
    await store.close()
    const open = await opened
    opened = undefined
    await open?.close()
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
