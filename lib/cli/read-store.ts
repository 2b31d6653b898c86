import { systemClock } from '../platform/clock.ts'
import type { Reports } from '../ledger/reports.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import { openRiskRule, openStoreSetting } from './open-config.ts'

/** Reads the store, beside a running server or without one. */
export async function readStore<T>(
  options: SharedOptions,
  read: (reports: Reports) => Promise<T>,
): Promise<T> {
  const { openReports } = await import('../stores/open-store.ts')
  const risk = openRiskRule(options)
  const reports = await openReports(openStoreSetting(options), systemClock, () => risk)
  try {
    return await read(reports)
  } finally {
    await reports.close()
  }
}

/** @throws CommandError when nothing was found by the id */
export function found<T>(value: T | undefined, accountId: string): T {
  if (value !== undefined) return value
  throw new CommandError(`there is no account ${accountId}: gateway account list shows them all`)
}
