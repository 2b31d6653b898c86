import type { AccountSettings } from '../../accounts/accounts.ts'
import type { Log } from '../../platform/log.ts'
import { repeat } from '../../platform/repeat.ts'
import type { Repeated } from '../../platform/repeat.ts'
import type { Mailer } from './mailer.ts'
import type { SettingsLetters } from './letters.ts'

interface BalanceAlertsOptions {
  readonly settings: Pick<AccountSettings, 'takeAlerts' | 'endAlert'>
  readonly settingsLetters: Pick<SettingsLetters, 'lowBalance'>
  readonly mailer: Pick<Mailer, 'deliver'>
  readonly log: Pick<Log, 'error'>
}

/** How often the store is asked, which costs it next to nothing while there are none. */
const everyMs = 1000
/** Longer than the attempts to deliver a letter take. */
const takenMs = 5 * 60_000

/**
 * Tells owners of a low balance. The store notes a crossing with the charge that makes it; here it is taken, so
 * that one node tells of it, and ended when the letter is delivered, so that a crash in between loses none.
 */
export function tellLowBalances({ settings, settingsLetters, mailer, log }: BalanceAlertsOptions): Repeated {
  return repeat(everyMs, async () => {
    try {
      for (const alert of await settings.takeAlerts(takenMs)) {
        const sent = await Promise.all(
          settingsLetters.lowBalance(alert).map(letter => mailer.deliver(letter)),
        )
        if (sent.includes(true)) await settings.endAlert(alert)
      }
    } catch (error) {
      log.error({ error }, 'alerts of low balances could not be told')
    }
  })
}
