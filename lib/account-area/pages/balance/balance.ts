import { html } from 'hono/html'
import type { Balance } from '../../../ledger/ledger.ts'
import type { Movement } from '../../../payments/movements.ts'
import type { Receipt } from '../../../payments/payment-reader.ts'
import { money, time } from '../../format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { formProblems, notice } from '../../view/form.ts'
import type { FormState } from '../../view/form.ts'
import { layout } from '../../view/layout.ts'
import { movementName, movementReason } from './movement-name.ts'
import { topUpForm, untouchedTopUp } from './top-up-form.ts'

const movementsShown = 20
const receiptsShown = 5

function figures({ texts, language }: OwnPage, { availableMicros, heldMicros }: Balance): Html {
  const { balance } = texts
  const held = html`<div class="figure">
    <dt>${balance.held}</dt>
    <dd>${money(heldMicros, language)}</dd>
  </div>`
  return html`<section class="card">
    <dl class="figures">
      <div class="figure main">
        <dt>${balance.available}</dt>
        <dd>${money(availableMicros, language)}</dd>
      </div>
      ${heldMicros > 0 ? held : ''}
    </dl>
  </section>`
}

function movementRow(page: OwnPage, movement: Movement): Html {
  const { amountMicros, balanceMicros, at, id } = movement
  const payment = /^payment:([0-9a-z]{26})$/.exec(id)?.[1]
  const name = movementName(page.texts, movement)
  const reason = movementReason(movement)
  return html`<tr role="row">
    <td role="cell" class="charge-time">${time(at, page.language)}</td>
    <td role="cell">
      ${payment === undefined ? name : html`<a href="/balance/payments/${payment}">${name}</a>`}
      ${reason === undefined ? '' : html`<span class="quiet small">${reason}</span>`}
    </td>
    <td role="cell" class="charge-amount number">
      ${amountMicros > 0 ? '+' : ''}${money(amountMicros, page.language)}
    </td>
    <td role="cell" class="number quiet">
      <span class="in-card">${page.texts.balance.after}: </span>${money(balanceMicros, page.language)}
    </td>
  </tr>`
}

function history(page: OwnPage, movements: readonly Movement[]): Html {
  const { balance } = page.texts
  const last = movements.length > movementsShown ? movements[movementsShown - 1] : undefined
  const table = html`<div class="table" tabindex="0" role="region" aria-label="${balance.history}">
      <table class="charges movements" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">${balance.time}</th>
            <th scope="col" role="columnheader">${balance.what}</th>
            <th scope="col" role="columnheader" class="number">${balance.change}</th>
            <th scope="col" role="columnheader" class="number">${balance.after}</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${movements.slice(0, movementsShown).map(movement => movementRow(page, movement))}
        </tbody>
      </table>
    </div>
    <p>
      <a href="/balance.csv">${balance.csv}</a>
      ${last === undefined ? '' : html` · <a href="/balance?before=${last.at}">${balance.older}</a>`}
    </p>`
  return html`<section class="card">
    <h2>${balance.history}</h2>
    ${movements.length === 0 ? html`<p class="quiet">${balance.empty}</p>` : table}
  </section>`
}

function receiptList(page: OwnPage, receipts: readonly Receipt[]): Html {
  if (receipts.length === 0) return html``
  const { balance } = page.texts
  return html`<section class="card">
    <h2>${balance.receipts}</h2>
    <ul class="plain-list">
      ${receipts.map(
        receipt =>
          html`<li>
            <a href="/balance/receipts/${receipt.id}">${balance.receiptKinds[receipt.kind]}</a>
            ${money(receipt.amount_micros, page.language)}
            <span class="quiet small"
              >${time(receipt.created_at, page.language)}, ${balance.receiptStates[receipt.state]}</span
            >
          </li>`,
      )}
    </ul>
  </section>`
}

/** The page, also after its form was sent and refused. */
export async function balanceView(page: OwnPage, state?: FormState, before?: number): Promise<Html> {
  const { site, account, texts } = page
  const { accountId } = account
  const [found, movements, receipts] = await Promise.all([
    site.reports.balance(accountId),
    site.movements.page(accountId, { before, limit: movementsShown + 1 }),
    site.payments?.rows.receipts(accountId, receiptsShown) ?? [],
  ])
  const form = state ?? untouchedTopUp(page)
  const topUp =
    site.payments === undefined
      ? html`<section class="card">
          <h2>${texts.balance.topUp}</h2>
          <p>${texts.balance.byOperator(accountId)}</p>
        </section>`
      : topUpForm(page, site.payments.settings(), form)
  return layout(
    page,
    { title: texts.balance.title },
    html`<h1>${texts.balance.title}</h1>
      ${notice(page)} ${formProblems(page, form)} ${found === undefined ? '' : figures(page, found)} ${topUp}
      ${history(page, movements)} ${receiptList(page, receipts)}`,
  )
}

/** What the account has, how to have more, and all that moved it but charges. */
export async function showBalance(context: PageContext, page: OwnPage): Promise<Response> {
  const before = Number(context.req.query('before'))
  return context.html(
    await balanceView(page, undefined, Number.isSafeInteger(before) && before > 0 ? before : undefined),
  )
}
