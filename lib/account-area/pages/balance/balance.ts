import { html } from 'hono/html'
import type { Balance } from '../../../ledger/ledger.ts'
import type { Payment } from '../../../payments/payment-reader.ts'
import type { PaymentService } from '../../../payments/payment-service.ts'
import { debtMoney, money, time } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { emptyForm, formProblems, notice, checkbox, field, form, radios } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { entryList, figure } from '../../../web/view/data-table.ts'
import { card, titledPage } from '../../../web/view/layout.ts'
import { invoiceSection } from '../documents/invoices.ts'
import { autoTopUpCard } from './auto-top-up.ts'
import { history, movementsShown, placeOf } from './history.ts'
import { receiptList } from './receipts.ts'
import type { PaymentsConfig } from '../../../config/config.ts'
import { formatWholeKopecks, microsPerKopeck } from '../../../money/kopecks.ts'
import {
  typedRoubles,
  roublesTyped,
  fieldSchemas,
  readForm,
  says,
  withError,
  type FieldErrorKey,
} from '../../../web/http/read-form.ts'
import { z } from 'zod'
import { seeOther } from '../../../web/http/redirect.ts'
import type { Language } from '../../../web/texts/language.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const receiptsShown = 5
/** Open payments are looked for among this many recent ones. */
const paymentsLookedAt = 20

function figures({ texts, language }: OwnPage, { availableMicros, heldMicros, debtMicros }: Balance): Html {
  const { balance, overview } = texts
  return html`<section class="card">
    <dl class="figures">
      ${figure(balance.available, money(Math.max(0, availableMicros), language), { isMain: true })}
      ${heldMicros > 0 ? figure(balance.held, money(heldMicros, language)) : ''}
    </dl>
    ${debtMicros === 0 ? '' : html`<p class="notice bad"><strong>${overview.debt(debtMoney(debtMicros, language))}</strong></p>`}
  </section>`
}

/** Unfinished payments, so that the customer can continue them. */
function openPayments({ texts, language }: OwnPage, payments: readonly Payment[]): Html {
  const open = payments.filter(({ state }) => state === 'created' || state === 'pending')
  if (open.length === 0) return html``
  const { balance } = texts
  return html`<section class="card">
    <h2>${balance.open}</h2>
    ${entryList(
      open.map(({ id, amount_micros: amount, created_at: at }) => ({
        name: html`<a href="/balance/payments/${id}">${balance.goOn}</a>`,
        note: time(at, language),
        beside: money(amount, language),
      })),
    )}
  </section>`
}

async function receipts(page: OwnPage, { rows }: PaymentService): Promise<Html> {
  const { balance } = page.texts
  const found = await rows.receipts(page.account.accountId, receiptsShown + 1)
  if (found.length === 0) return html``
  return html`<section class="card">
    <div class="row between">
      <h2>${balance.receipts}</h2>
      ${found.length > receiptsShown ? html`<a href="/balance/receipts">${balance.allReceipts}</a>` : ''}
    </div>
    ${receiptList(page, found.slice(0, receiptsShown))}
  </section>`
}

/** The initial form: with the amount in the query, and the last payment method. */
function untouchedTopUp(page: OwnPage, lastMethod: string | null | undefined): FormState {
  const query = new URLSearchParams(page.path.split('?')[1])
  // Links use a decimal point in every language.
  const amount = typedRoubles(query.get('rub') ?? '', 'ru')
  const isAmount = typeof amount === 'number'
  return {
    typed: {
      email: page.session.user.email,
      amount: isAmount ? roublesTyped(amount, page.language) : '',
      ...(lastMethod === null || lastMethod === undefined ? {} : { method: lastMethod }),
      ...(query.get('save') === '1' ? { saveCard: 'yes' } : {}),
    },
    errors: {},
  }
}

/** A preset amount: a script fills the field, or a link opens the page with it filled in. */
function preset(page: OwnPage, micros: number): Html {
  const rub = formatWholeKopecks(micros)
  return html`<a
    class="button plain"
    href="/balance?rub=${rub}#amount"
    data-fill="amount"
    data-value="${roublesTyped(micros, page.language)}"
    >${money(micros, page.language).replace(/[.,]00(?=\D*$)/, '')}</a
  >`
}

/** The form with amount, payment method and email for the receipt. */
function topUpForm(page: OwnPage, { topUp, autoTopUp }: PaymentsConfig, state: FormState): Html {
  const { balance } = page.texts
  const { language } = page
  const names = topUp.methods.map(({ name }): [string, string] => [name, balance.methods[name]])
  const maySave = autoTopUp && page.account.role === 'owner' && names.some(([name]) => name === 'bank_card')
  return html`<section class="card">
    <h2>${balance.topUp}</h2>
    ${form(
      page,
      '/balance/top-up',
      html`${field(state, {
          name: 'amount',
          label: balance.amount,
          hint: balance.amountHint(money(topUp.minMicros, language), money(topUp.maxMicros, language)),
          inputmode: 'decimal',
        })}
        <p class="presets">${topUp.presetsMicros.map(micros => preset(page, micros))}</p>
        ${radios(state, { name: 'method', label: balance.method, options: Object.fromEntries(names) })}
        ${field(state, { name: 'email', label: balance.email, type: 'email', autocomplete: 'email' })}
        ${maySave ? checkbox(state, { name: 'saveCard', label: balance.saveCard }) : ''}
        <div><button>${balance.pay}</button></div>`,
    )}
  </section>`
}

/** How to pay here: through the provider, or through the operator. */
async function topUpPart(page: OwnPage, sent?: FormState): Promise<readonly [Html, FormState]> {
  const { site, account, texts } = page
  const { payments } = site
  if (payments === undefined)
    return [card(texts.balance.topUp, html`<p>${texts.balance.byOperator(account.accountId)}</p>`), emptyForm]
  const last = await payments.rows.payments({ accountId: account.accountId, limit: paymentsLookedAt })
  const state = sent ?? untouchedTopUp(page, last.find(({ method }) => method !== null)?.method)
  const down = html`<p class="notice bad" role="status">${texts.balance.unavailable}</p>`
  const part = html`${payments.isProviderDown ? down : ''} ${openPayments(page, last)}
  ${topUpForm(page, payments.settings(), state)} ${await autoTopUpCard(page, payments)}`
  return [part, state]
}

/** The balance, ways to top up, and all movements other than charges; also after its form was rejected. */
export async function showBalance(page: OwnPage, sent?: FormState): Promise<Html> {
  const { site, account, texts, context } = page
  const { accountId } = account
  const before = sent === undefined ? placeOf(context.req.query('before')) : undefined
  const [found, movements, [topUp, state]] = await Promise.all([
    site.reports.balance(accountId),
    site.movements.page(accountId, { before, limit: movementsShown + 1 }),
    topUpPart(page, sent),
  ])
  return titledPage(
    page,
    { title: texts.balance.title },
    html`${notice(page)} ${formProblems(page, state)} ${found === undefined ? '' : figures(page, found)}
    ${topUp} ${await invoiceSection(page)} ${await history(page, movements, before !== undefined)}
    ${site.payments === undefined ? '' : await receipts(page, site.payments)}`,
  )
}

function topUpSchema(language: Language) {
  return z.object({
    amount: fieldSchemas.someRoubles(language),
    method: z.enum(['bank_card', 'sbp'], says('methodMissing')),
    email: fieldSchemas.email,
    saveCard: z.literal('yes').optional().catch(undefined),
  })
}

/** Creates a payment and redirects to its page. */
export async function submitTopUp(page: OwnPage): Promise<PageResponse> {
  const { site, account, caller, language } = page
  const { payments } = site
  if (payments === undefined) return showFailure(page, 'notFound')
  const sent = await readForm(page, topUpSchema(language))
  if (!sent.isValid) return page.context.html(await showBalance(page, sent.state), 422)
  const { amount, method, email, saveCard } = sent.value
  const { topUp, autoTopUp } = payments.settings()
  const offered = topUp.methods.find(({ name }) => name === method)
  const refuse = async (name: string, key: FieldErrorKey): Promise<PageResponse> =>
    page.context.html(await showBalance(page, withError(page, sent.state, name, key)), 422)
  if (offered === undefined) return refuse('method', 'methodMissing')
  if (amount % microsPerKopeck !== 0) return refuse('amount', 'amountKopecks')
  if (amount < topUp.minMicros) return refuse('amount', 'amountSmall')
  if (amount > offered.maxMicros) return refuse('amount', 'amountLarge')
  if (!(await site.topUpAttempts.begin(account.accountId))) return refuse('amount', 'tooOften')
  const payment = await payments.payments.create({
    accountId: account.accountId,
    amountMicros: amount,
    method,
    email,
    language,
    origin: 'customer',
    savesCard: saveCard === 'yes' && autoTopUp && method === 'bank_card' && account.role === 'owner',
    address: caller.address,
  })
  const goes = payment.state === 'pending' && method === 'bank_card' ? '?go=1' : ''
  return seeOther(page, `/balance/payments/${payment.id}${goes}`)
}
