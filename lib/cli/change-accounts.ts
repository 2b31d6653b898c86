import type { Accounts } from '../accounts/accounts.ts'
import { systemClock } from '../platform/clock.ts'
import type { SharedOptions } from './add-command.ts'
import { openRiskRule, openStoreSetting } from './open-config.ts'

/** Makes a change through the running server, or with the store's lock where none runs. */
export async function changeAccounts<T>(
  options: SharedOptions,
  change: (accounts: Accounts) => Promise<T>,
): Promise<T> {
  const connection = await connectTo(options)
  try {
    return await change(connection.accounts)
  } finally {
    await connection.close()
  }
}

/** Accounts to change, by the rules that the configuration has for them. */
export async function connectTo(options: SharedOptions) {
  const { connectAccounts } = await import('../control/connect-accounts.ts')
  const { createLog } = await import('../observability/log.ts')
  const log = createLog({ level: 'warn' })
  const rule = openRiskRule(options)
  return connectAccounts(openStoreSetting(options), { clock: systemClock, log, riskRule: () => rule })
}
