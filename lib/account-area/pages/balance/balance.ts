import { html } from 'hono/html'
import type { Balance } from '../../../ledger/ledger.ts'
import type { MovementPlace } from '../../../payments/movements.ts'
import type { Payment } from '../../../payments/payment-reader.ts'
import type { PaymentService } from '../../../payments/payment-service.ts'
import { debtMoney, money, time } from '../../../web/format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { formProblems, notice } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { invoiceSection } from '../documents/invoice-section.ts'
import { autoTopUpCard } from './auto-top-up-card.ts'
import { history, movementsShown, placeOf } from './history.ts'
import { receiptList } from './receipt-list.ts'
import { topUpForm, untouchedTopUp } from './top-up-form.ts'

const receiptsShown = 5
/** Among so many payments, open ones are looked for. */
const paymentsLookedAt = 20

function figures({ texts, language }: OwnPage, { availableMicros, heldMicros, debtMicros }: Balance): Html {
  const { balance, overview } = texts
  const held = html`<div class="figure">
    <dt>${balance.held}</dt>
    <dd>${money(heldMicros, language)}</dd>
  </div>`
  return html`<section class="card">
    <dl class="figures">
      <div class="figure main">
        <dt>${balance.available}</dt>
        <dd>${money(Math.max(0, availableMicros), language)}</dd>
      </div>
      ${heldMicros > 0 ? held : ''}
    </dl>
    ${debtMicros === 0 ? '' : html`<p class="notice bad"><strong>${overview.debt(debtMoney(debtMicros, language))}</strong></p>`}
  </section>`
}

/** Payments that were begun and not ended, so that whoever left can go on. */
function openPayments({ texts, language }: OwnPage, payments: readonly Payment[]): Html {
  const open = payments.filter(({ state }) => state === 'created' || state === 'pending')
  if (open.length === 0) return html``
  const { balance } = texts
  return html`<section class="card">
    <h2>${balance.open}</h2>
    <ul class="plain-list receipts">
      ${open.map(
        ({ id, amount_micros: amount, created_at: at }) =>
          html`<li>
            <span>
              <a href="/balance/payments/${id}">${balance.goOn}</a>
              <span class="quiet small">${time(at, language)}</span>
            </span>
            <span class="number">${money(amount, language)}</span>
          </li>`,
      )}
    </ul>
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

interface BalanceView {
  /** The form as it was sent and refused. */
  readonly form?: FormState
  readonly before?: MovementPlace | undefined
}

/** What is paid with here: by the provider, or by the operator's hand. */
async function topUpPart(
  page: OwnPage,
  { form }: BalanceView,
): Promise<readonly [Html, FormState | undefined]> {
  const { site, account, texts } = page
  const { payments } = site
  if (payments === undefined) {
    const byOperator = html`<section class="card">
      <h2>${texts.balance.topUp}</h2>
      <p>${texts.balance.byOperator(account.accountId)}</p>
    </section>`
    return [byOperator, undefined]
  }
  const last = await payments.rows.payments({ accountId: account.accountId, limit: paymentsLookedAt })
  const state = form ?? untouchedTopUp(page, last.find(({ method }) => method !== null)?.method)
  const down = html`<p class="notice bad" role="status">${texts.balance.unavailable}</p>`
  const part = html`${payments.isProviderDown ? down : ''} ${openPayments(page, last)}
  ${topUpForm(page, payments.settings(), state)} ${await autoTopUpCard(page, payments)}`
  return [part, state]
}

/** The page, also after its form was sent and refused. */
export async function balanceView(page: OwnPage, view: BalanceView = {}): Promise<Html> {
  const { site, account, texts } = page
  const { accountId } = account
  const { before } = view
  const [found, movements, [topUp, state]] = await Promise.all([
    site.reports.balance(accountId),
    site.movements.page(accountId, { before, limit: movementsShown + 1 }),
    topUpPart(page, view),
  ])
  return layout(
    page,
    { title: texts.balance.title },
    html`<h1>${texts.balance.title}</h1>
      ${notice(page)} ${state === undefined ? '' : formProblems(page, state)}
      ${found === undefined ? '' : figures(page, found)} ${topUp} ${await invoiceSection(page)}
      ${await history(page, movements, before !== undefined)}
      ${site.payments === undefined ? '' : await receipts(page, site.payments)}`,
  )
}

/** What the account has, how to have more, and all that moved it but charges. */
export async function showBalance(context: PageContext, page: OwnPage): Promise<Response> {
  return context.html(await balanceView(page, { before: placeOf(context.req.query('before')) }))
}
