import { setTimeout as delay } from 'node:timers/promises'
import type { AccountSettings } from '../../accounts/accounts.ts'
import type { Log } from '../../platform/log.ts'
import type { Mailer } from './mailer.ts'
import type { SettingsLetters } from './settings-letters.ts'

interface BalanceAlertsOptions {
  readonly settings: Pick<AccountSettings, 'takeAlerts' | 'endAlert'>
  readonly letters: Pick<SettingsLetters, 'lowBalance'>
  readonly mailer: Pick<Mailer, 'deliver'>
  readonly log: Pick<Log, 'error'>
}

/** How often the store is asked, which costs it next to nothing while there are none. */
const everyMs = 1000
const closeMs = 5000
/** Longer than the attempts to deliver a letter take. */
const takenMs = 5 * 60_000

/**
 * Tells owners of a low balance. The store notes a crossing with the charge that makes it; here it is taken, so
 * that one node tells of it, and ended when the letter is delivered, so that a crash in between loses none.
 */
export class BalanceAlerts {
  readonly #options: BalanceAlertsOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined

  constructor(options: BalanceAlertsOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      this.#running ??= this.#tell().finally(() => (this.#running = undefined))
    }, everyMs)
    this.#timer.unref()
  }

  /** Ends; what is being told is waited for, for some seconds at most. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.race([this.#running, delay(closeMs, undefined, { ref: false })])
  }

  async #tell(): Promise<void> {
    const { settings, letters, mailer, log } = this.#options
    try {
      for (const alert of await settings.takeAlerts(takenMs)) {
        const sent = await Promise.all(letters.lowBalance(alert).map(letter => mailer.deliver(letter)))
        if (sent.includes(true)) await settings.endAlert(alert)
      }
    } catch (error) {
      log.error({ error }, 'alerts of low balances could not be told')
    }
  }
}
