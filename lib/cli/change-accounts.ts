import type { Accounts } from '../accounts/accounts.ts'
import { systemClock } from '../platform/clock.ts'
import type { SharedOptions } from './add-command.ts'
import { openStoreSetting } from './open-config.ts'

/** Makes a change through the running server, or with the store's lock where none runs. */
export async function changeAccounts<T>(
  options: SharedOptions,
  change: (accounts: Accounts) => Promise<T>,
): Promise<T> {
  const { connectAccounts } = await import('../control/connect-accounts.ts')
  const { createLog } = await import('../observability/log.ts')
  const log = createLog({ level: 'warn' })
  const connection = await connectAccounts(openStoreSetting(options), { clock: systemClock, log })
  try {
    return await change(connection.accounts)
  } finally {
    await connection.close()
  }
}
