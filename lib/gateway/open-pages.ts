import type { Config } from '../config/config.ts'
import type { Certificate } from '../listener/certificate.ts'
import { openFailureCounts } from '../rate-limits/failure-counts.ts'
import type { Log } from '../platform/log.ts'
import type { OpenPayments } from '../payments/open-payments.ts'
import type { Clock } from '../platform/clock.ts'
import type { DeskProviders } from '../operator-area/page.ts'
import type { Store } from '../stores/store.ts'
import type { OpenArea } from '../web/open-area.ts'
import type { PasswordCost } from '../web/sign-in/password-hash.ts'

interface PagesOptions {
  readonly payments: OpenPayments | undefined
  readonly providers: DeskProviders
  readonly passwordCost: PasswordCost | undefined
  readonly clock: Clock
  readonly log: Log
}

/** The running web pages; an address is undefined where the config has no such pages. */
export interface Pages {
  readonly accountAreaUrl: string | undefined
  readonly operatorAreaUrl: string | undefined
  reload(config: Config, certificate: Certificate | undefined): void
  /** Serves for `waitMs`, then ends. May be called again. */
  close(waitMs?: number): Promise<void>
}

/** Opens the pages for customers and for operators; their modules are loaded only where the config has them. */
export async function openPages(
  config: Config,
  store: Store,
  { payments, providers, passwordCost, clock, log }: PagesOptions,
): Promise<Pages> {
  const opened: OpenArea[] = []
  const failures = await openFailureCounts(config, clock, log)
  const shared = { config, store, failures, passwordCost, clock, log }
  const { accountArea: customers, operatorArea: operators } = config
  let accountAreaUrl: string | undefined
  let operatorAreaUrl: string | undefined
  try {
    if (customers !== undefined) {
      const { openAccountArea } = await import('../account-area/account-area.ts')
      const area = await openAccountArea({ ...shared, settings: customers, payments: payments?.service })
      opened.push(area)
      accountAreaUrl = area.url
      payments?.setSite(area.publicUrl)
    }
    if (operators !== undefined) {
      const { openOperatorArea } = await import('../operator-area/operator-area.ts')
      const area = await openOperatorArea({
        ...shared,
        settings: operators,
        payments: payments?.actions,
        providers,
      })
      opened.push(area)
      operatorAreaUrl = area.url
    }
  } catch (error) {
    await Promise.all(opened.map(area => area.close()))
    await failures.close()
    throw error
  }
  return {
    accountAreaUrl,
    operatorAreaUrl,
    reload(next, certificate) {
      for (const area of opened) area.reload(next, certificate)
    },
    async close(waitMs) {
      await Promise.all(opened.map(area => area.close(waitMs)))
      await failures.close()
    },
  }
}
