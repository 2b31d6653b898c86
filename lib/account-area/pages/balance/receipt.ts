import { html } from 'hono/html'
import { isId } from '../../../platform/new-id.ts'
import { money, time } from '../../../web/format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { layout } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { receiptState } from './receipt-list.ts'

/** A fiscal receipt of one's own. */
export async function showReceipt(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, texts, language } = page
  const id = context.req.param('id') ?? ''
  const found = isId(id) ? await site.payments?.rows.receipt(id) : undefined
  if (found?.account_id !== account.accountId) return showFailure(context, page, 'notFound')
  const payment = await site.payments?.rows.payment(found.payment_id)
  const line = (name: string, value: Html | string | null): Html =>
    value === null
      ? html``
      : html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`
  const { receipt, balance } = texts
  return context.html(
    layout(
      page,
      { title: receipt.title, isNarrow: true },
      html`<h1>${balance.receiptKinds[found.kind]}</h1>
        <section class="card">
          <dl class="facts payment-facts">
            ${line(receipt.amount, money(found.amount_micros, language))}
            ${line(receipt.state, receiptState(page, found))}
            ${line(receipt.time, time(found.registered_at ?? found.created_at, language))}
            ${line(receipt.documentNumber, found.document_number)}
            ${line(receipt.storageNumber, found.storage_number)} ${line(receipt.attribute, found.attribute)}
            ${line(receipt.payment, html`<a href="/balance/payments/${found.payment_id}">${found.payment_id}</a>`)}
          </dl>
          ${found.state === 'succeeded' && payment !== undefined ? html`<p class="quiet">${receipt.sentTo(payment.receipt_email)}</p>` : ''}
        </section>
        <p><a href="/balance">${texts.payment.toBalance}</a></p>`,
    ),
  )
}
