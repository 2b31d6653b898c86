import { html } from 'hono/html'
import { isId } from '../../../platform/new-id.ts'
import type { PageResponse, OwnPage, Html } from '../../page.ts'
import { entryList, facts } from '../../../web/view/data-table.ts'
import { layout, titledPage } from '../../../web/view/layout.ts'
import type { Receipt } from '../../../payments/payment-reader.ts'
import { money, time } from '../../../web/format.ts'
import { pathPart } from '../../../web/http/read-form.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const receiptsShown = 50

/** All fiscal receipts of the account, the newest first. */
export async function showReceipts(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const { balance } = texts
  const text = page.context.req.query('before') ?? ''
  const before = isId(text) ? text : undefined
  const found = (await site.payments?.rows.receipts(account.accountId, receiptsShown + 1, before)) ?? []
  const shown = found.slice(0, receiptsShown)
  const last = found.length > receiptsShown ? shown.at(-1) : undefined
  return titledPage(
    page,
    { title: balance.receipts, back: { path: '/balance', label: texts.payment.toBalance } },
    html`<section class="card">
      ${shown.length === 0 ? html`<p class="quiet">${balance.noReceipts}</p>` : receiptList(page, shown)}
      ${last === undefined ? '' : html`<p><a rel="next" href="/balance/receipts?before=${last.id}">${balance.older}</a></p>`}
    </section>`,
  )
}

/** The state of a receipt in the user's language. */
function receiptState({ texts }: OwnPage, { state, next_poll_at: nextPollAt }: Receipt): string {
  const { receiptStates, receiptGivenUp } = texts.balance
  return state === 'canceled' && nextPollAt === null ? receiptGivenUp : receiptStates[state]
}

/** Receipts, each with a link to its page. */
export function receiptList(page: OwnPage, receipts: readonly Receipt[]): Html {
  const { balance } = page.texts
  return entryList(
    receipts.map(receipt => ({
      name: html`<a href="/balance/receipts/${receipt.id}">${balance.receiptKinds[receipt.kind]}</a>`,
      note: `${time(receipt.created_at, page.language)}, ${receiptState(page, receipt)}`,
      beside: money(receipt.amount_micros, page.language),
    })),
  )
}

/** A fiscal receipt of the account. */
export async function showReceipt(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts, language } = page
  const id = pathPart(page)
  const found = isId(id) ? await site.payments?.rows.receipt(id) : undefined
  if (found?.account_id !== account.accountId) return showFailure(page, 'notFound')
  const payment = await site.payments?.rows.payment(found.payment_id)
  const { receipt, balance } = texts
  return layout(
    page,
    { title: receipt.title, isNarrow: true },
    html`<h1>${balance.receiptKinds[found.kind]}</h1>
      <section class="card">
        ${facts(
          [
            [receipt.amount, money(found.amount_micros, language)],
            [receipt.state, receiptState(page, found)],
            [receipt.time, time(found.registered_at ?? found.created_at, language)],
            [receipt.documentNumber, found.document_number],
            [receipt.storageNumber, found.storage_number],
            [receipt.attribute, found.attribute],
            [receipt.payment, html`<a href="/balance/payments/${found.payment_id}">${found.payment_id}</a>`],
          ],
          'facts payment-facts',
        )}
        ${found.state === 'succeeded' && payment !== undefined ? html`<p class="quiet">${receipt.sentTo(payment.receipt_email)}</p>` : ''}
      </section>
      <p><a href="/balance">${texts.payment.toBalance}</a></p>`,
  )
}
