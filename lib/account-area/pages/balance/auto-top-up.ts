import { html } from 'hono/html'
import { z } from 'zod'
import { microsPerKopeck } from '../../../money/kopecks.ts'
import type { PaymentService } from '../../../payments/payment-service.ts'
import { tryWrite } from '../../../stores/records/records.ts'
import { money, time } from '../../../web/format.ts'
import {
  fieldSchemas,
  hiddenField,
  readForm,
  says,
  withError,
  type FieldErrorKey,
  roublesTyped,
} from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import type { Language } from '../../../web/texts/language.ts'
import {
  buttonForm,
  choice,
  field,
  form,
  formProblems,
  notice,
  type FormState,
} from '../../../web/view/form.ts'
import { entryList } from '../../../web/view/data-table.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { cardLabel } from './payment.ts'
import { monthStart } from '../../../payments/auto-top-up-rules.ts'
import type { AutoTopUp, SavedCard } from '../../../payments/auto-top-up-rows.ts'

/** The setting of an account, and the cards that may be charged. */
interface AutoTopUpState {
  readonly setting: AutoTopUp | undefined
  readonly cards: readonly SavedCard[]
  /** The sum of automatic top-ups this month. */
  readonly takenMicros: number
}

/** Reads the state. Cards saved at another provider cannot be charged now, but are listed. */
async function readAutoTopUp(
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

/** Whether it is on, with which card, and how much of the monthly limit is used. */
function autoTopUpState({ texts, language }: OwnPage, { setting, cards, takenMicros }: AutoTopUpState): Html {
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

/**
 * The link to automatic top-ups on the balance page; shown even where they are no longer offered, so that cards can
 * be unlinked.
 */
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

/** The defaults of the form, in micro-roubles. */
const proposed = { below: 200_000_000, amount: 1_000_000_000, monthMax: 10_000_000_000 }

function schema(language: Language) {
  const roubles = fieldSchemas.someRoubles(language)
  return z.object({
    card: z.string(says('required')).max(26, says('invalid')),
    below: roubles,
    amount: roubles,
    monthMax: roubles,
  })
}

function untouched({ language }: OwnPage, { setting, cards }: AutoTopUpState): FormState {
  const typed = {
    card: setting?.card_id ?? cards[0]?.id ?? '',
    below: roublesTyped(setting?.below_micros ?? proposed.below, language),
    amount: roublesTyped(setting?.amount_micros ?? proposed.amount, language),
    monthMax: roublesTyped(setting?.month_max_micros ?? proposed.monthMax, language),
  }
  return { typed, errors: {} }
}

function settingsForm(page: OwnPage, state: AutoTopUpState, typed: FormState): Html {
  const { autoTopUp } = page.texts
  const isOn = state.setting?.state === 'on'
  const options = Object.fromEntries(state.cards.map(({ id, title }) => [id, cardLabel(page.texts, title)]))
  const amount = (name: 'below' | 'amount' | 'monthMax'): Html =>
    field(typed, { name, label: autoTopUp.fields[name], hint: autoTopUp.hints[name], inputmode: 'decimal' })
  return html`<section class="card">
    <h2>${autoTopUp.when}</h2>
    ${form(
      page,
      '/balance/auto',
      html`${amount('below')} ${amount('amount')} ${amount('monthMax')}
        ${choice(typed, { name: 'card', label: autoTopUp.fields.card, options })}
        <p class="quiet small">${autoTopUp.consent}</p>
        <div><button>${isOn ? autoTopUp.save : autoTopUp.switchOn}</button></div>`,
    )}
    ${isOn ? form(page, '/balance/auto/off', html`<button class="plain">${autoTopUp.switchOff}</button>`) : ''}
  </section>`
}

function cardList(page: OwnPage, { cards }: AutoTopUpState): Html {
  const { autoTopUp } = page.texts
  return html`<section class="card">
    <h2>${autoTopUp.cards}</h2>
    ${entryList(
      cards.map(({ id, title, saved_at: at }) => {
        const label = cardLabel(page.texts, title)
        const unlink = {
          action: '/balance/auto/unlink',
          fields: { card: id },
          label: autoTopUp.unlink,
          spoken: autoTopUp.unlinkCard(label),
          className: 'link',
        } as const
        return {
          name: label,
          note: autoTopUp.saved(time(at, page.language)),
          beside: buttonForm(page, unlink),
        }
      }),
    )}
    <p class="quiet small">${autoTopUp.unlinkHint}</p>
  </section>`
}

async function view(page: OwnPage, payments: PaymentService, sent?: FormState): Promise<Html> {
  const { autoTopUp, payment } = page.texts
  const state = await readAutoTopUp(page, payments)
  const typed = sent ?? untouched(page, state)
  const isOffered = payments.settings().autoTopUp
  const noCard = html`<section class="card">
    <p>${autoTopUp.noCard}</p>
    <p><a class="button" href="/balance?save=1#amount">${autoTopUp.toTopUp}</a></p>
  </section>`
  return titledPage(
    page,
    { title: autoTopUp.title, back: { path: '/balance', label: payment.toBalance } },
    html`${notice(page)} ${formProblems(page, typed)}
      <section class="card">${autoTopUpState(page, state)}</section>
      ${!isOffered ? html`<p class="quiet">${autoTopUp.notOffered}</p>` : state.cards.length === 0 ? noCard : settingsForm(page, state, typed)}
      ${state.cards.length === 0 ? '' : cardList(page, state)}`,
  )
}

/** When and by how much the account is topped up automatically, and the cards that may be charged. */
export async function showAutoTopUp(page: OwnPage): Promise<PageResponse> {
  const { payments } = page.site
  if (payments === undefined) return showFailure(page, 'notFound')
  return await view(page, payments)
}

/** Switches it on, or changes its settings. */
export async function submitAutoTopUp(page: OwnPage): Promise<PageResponse> {
  const { site, account, language } = page
  const { payments } = site
  if (payments?.settings().autoTopUp !== true) return showFailure(page, 'notFound')
  const sent = await readForm(page, schema(language))
  const show = async (state: FormState): Promise<PageResponse> =>
    page.context.html(await view(page, payments, state), 422)
  if (!sent.isValid) return show(sent.state)
  const { card: cardId, below, amount, monthMax } = sent.value
  const refuse = (name: string, key: FieldErrorKey): Promise<PageResponse> =>
    show(withError(page, sent.state, name, key))
  const card = (await payments.auto.cards(account.accountId)).find(({ id }) => id === cardId)
  if (card === undefined || card.provider !== payments.providerName) return refuse('card', 'cardUnknown')
  const { topUp } = payments.settings()
  const most = topUp.methods.find(({ name }) => name === 'bank_card')?.maxMicros ?? 0
  if (amount % microsPerKopeck !== 0) return refuse('amount', 'amountKopecks')
  if (amount < topUp.minMicros) return refuse('amount', 'amountSmall')
  if (amount > most) return refuse('amount', 'amountLarge')
  if (monthMax < amount) return refuse('monthMax', 'monthSmall')
  const now = site.clock.now()
  const { accountId } = account
  await payments.auto.write([
    payments.auto.switchOn({
      accountId,
      cardId,
      belowMicros: below,
      amountMicros: amount,
      monthMaxMicros: monthMax,
      now,
    }),
    payments.auto.addNotice({
      id: `auto-on:${page.requestId}`,
      accountId,
      kind: 'auto-on',
      subject: money(amount, language),
      now,
    }),
  ])
  return seeOther(page, '/balance/auto?notice=auto-on')
}

/** Switches it off. */
export async function submitAutoTopUpOff(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  const { payments } = site
  if (payments === undefined) return showFailure(page, 'notFound')
  const now = site.clock.now()
  const { accountId } = account
  const notice = { id: `auto-off:${page.requestId}`, accountId, kind: 'auto-off', subject: '', now } as const
  // Another window may have switched it off already.
  await tryWrite(payments.auto, [payments.auto.switchOff(accountId, now), payments.auto.addNotice(notice)])
  return seeOther(page, '/balance/auto?notice=auto-off')
}

/** Forgets one of the account's cards; it is never charged again. */
export async function submitUnlinkCard(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  const { payments } = site
  if (payments === undefined) return showFailure(page, 'notFound')
  const sent = await readForm(page, z.object({ card: hiddenField(26) }))
  const id = sent.isValid ? sent.value.card : ''
  const card = (await payments.auto.cards(account.accountId)).find(one => one.id === id)
  if (card !== undefined) await tryWrite(payments.auto, payments.auto.unlink(card, site.clock.now()))
  return seeOther(page, '/balance/auto?notice=card-unlinked')
}
