import type { Config } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import type { Clock } from '../platform/clock.ts'
import { MemoryFailureCounts, type FailureCounts } from './failure-counts.ts'

/** Opens the counts of what fails in the pages: in the database where several nodes may share it. */
export async function openFailureCounts(
  { store }: Pick<Config, 'store'>,
  clock: Clock,
  log: Pick<Log, 'warn'>,
): Promise<FailureCounts> {
  if (store.kind !== 'postgres') return new MemoryFailureCounts(clock)
  // Loaded only where it is used, as the store itself.
  const { postgresFailureCounts } = await import('./postgres-failure-counts.ts')
  return postgresFailureCounts(store.url, error =>
    log.warn({ error }, 'a connection that counts attempts to sign in was lost'),
  )
}
