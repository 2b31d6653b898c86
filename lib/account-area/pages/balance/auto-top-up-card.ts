import { html } from 'hono/html'
import { monthStart } from '../../../payments/auto-top-up-rules.ts'
import type { AutoTopUp, SavedCard } from '../../../payments/auto-top-up-rows.ts'
import type { PaymentService } from '../../../payments/payment-service.ts'
import { money } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'
import { cardLabel } from './payment-text.ts'

/** What is set for an account, and what it may be charged by. */
export interface AutoTopUpState {
  readonly setting: AutoTopUp | undefined
  readonly cards: readonly SavedCard[]
  /** What automatic top-ups have taken this month. */
  readonly takenMicros: number
}

/** Reads it; cards of another provider than the one of now cannot be charged, and are listed all the same. */
export async function readAutoTopUp(
  { account, site }: OwnPage,
  { auto }: Pick<PaymentService, 'auto'>,
): Promise<AutoTopUpState> {
  const { accountId } = account
  const [setting, cards, takenMicros] = await Promise.all([
    auto.setting(accountId),
    auto.cards(accountId),
    auto.takenSince(accountId, monthStart(site.clock.now())),
  ])
  return { setting, cards, takenMicros }
}

/** Whether it is on, by which card, and how much of the month is used. */
export function autoTopUpState(
  { texts, language }: OwnPage,
  { setting, cards, takenMicros }: AutoTopUpState,
): Html {
  const { autoTopUp } = texts
  if (setting?.state !== 'on') {
    const reason = setting?.off_reason ?? undefined
    const why = reason === undefined || reason === 'owner' ? autoTopUp.off : autoTopUp.offReasons[reason]
    return html`<p>${why}</p>`
  }
  const card = cards.find(({ id }) => id === setting.card_id)
  const amount = money(setting.amount_micros, language)
  const below = money(setting.below_micros, language)
  return html`<p>
      <span class="badge good">${autoTopUp.on}</span>
      ${autoTopUp.rule(below, amount, card === undefined ? '' : cardLabel(texts, card.title))}
    </p>
    <p class="quiet small">
      ${autoTopUp.month(money(takenMicros, language), money(setting.month_max_micros, language))}
    </p>`
}

/** The way to automatic top-ups from the balance; also where they are not offered any more, to unlink cards. */
export async function autoTopUpCard(page: OwnPage, payments: PaymentService): Promise<Html> {
  if (page.account.role !== 'owner') return html``
  const state = await readAutoTopUp(page, payments)
  if (!payments.settings().autoTopUp && state.cards.length === 0) return html``
  const { autoTopUp } = page.texts
  return html`<section class="card">
    <div class="row between">
      <h2>${autoTopUp.title}</h2>
      <a href="/balance/auto">${autoTopUp.settings}</a>
    </div>
    ${autoTopUpState(page, state)}
  </section>`
}
