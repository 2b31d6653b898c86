import type { Reports } from '../ledger/reports.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { AutoTopUp, SavedCard } from './auto-top-up-rows.ts'
import { isBeyondMonth, monthStart, pauseMs } from './auto-top-up-rules.ts'
import type { PaymentContext, Payments } from './payments.ts'

interface AutoTopUpsOptions extends PaymentContext {
  readonly payments: Pick<Payments, 'createAutomatic'>
  readonly reports: Pick<Reports, 'account'>
}

/** The most attempts of one run; the next run follows a moment later. */
const attemptsMax = 20
const day = 86_400_000

/**
 * Automatic top-ups by saved cards, for accounts whose owners switched them on: one attempt per account at a time.
 */
export class AutoTopUps {
  readonly #options: AutoTopUpsOptions

  constructor(options: AutoTopUpsOptions) {
    this.#options = options
  }

  /** Charges the cards of accounts that have less than their threshold. */
  async run(): Promise<void> {
    const { settings, auto, clock } = this.#options
    if (!settings().autoTopUp) return
    for (const setting of await auto.due(clock.now(), attemptsMax)) {
      try {
        await this.#attempt(setting)
      } catch (error) {
        // Another node was faster, or the owner has changed the setting.
        if (!(error instanceof RecordConflictError)) throw error
      }
    }
  }

  async #attempt(setting: AutoTopUp): Promise<void> {
    const { auto, payments, reports, clock } = this.#options
    const { account_id: accountId, amount_micros: amountMicros, month_max_micros: monthMaxMicros } = setting
    const now = clock.now()
    const card = await auto.card(setting.card_id)
    const account = await reports.account(accountId)
    if (card === undefined || account === undefined || !this.#isUsable(card)) return this.#skip(setting, now)
    const taken = await auto.takenSince(accountId, monthStart(now))
    if (isBeyondMonth({ amountMicros, monthMaxMicros }, taken)) return this.#wait(setting, now)
    const steps = [auto.take(setting, now + pauseMs)]
    await payments.createAutomatic({ accountId, amountMicros, email: account.email, card, steps })
  }

  /** A card saved at another provider cannot be charged by this one. */
  #isUsable(card: SavedCard): boolean {
    return card.method_id !== null && card.provider === this.#options.provider.name
  }

  async #skip(setting: AutoTopUp, now: number): Promise<void> {
    const { auto, alarm } = this.#options
    alarm('auto_top_up_failed', { account: setting.account_id, card: setting.card_id })
    await auto.write([auto.take(setting, now + day)])
  }

  /** The monthly limit is reached: notifies the owner once and waits for the next month. */
  async #wait(setting: AutoTopUp, now: number): Promise<void> {
    const { auto } = this.#options
    const { account_id: accountId, revision } = setting
    const next = monthStart(now, 1)
    const id = `auto-limit:${accountId}:${revision}`
    await auto.write([
      auto.take(setting, next),
      auto.addNotice({ id, accountId, kind: 'auto-limit', subject: String(next), now }),
    ])
  }
}
