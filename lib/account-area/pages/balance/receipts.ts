import { html } from 'hono/html'
import { isId } from '../../../platform/new-id.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import { layout } from '../../../web/view/layout.ts'
import { receiptList } from './receipt-list.ts'

const receiptsShown = 50

/** All fiscal receipts of the account, the newest first. */
export async function showReceipts(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, texts } = page
  const { balance } = texts
  const text = context.req.query('before') ?? ''
  const before = isId(text) ? text : undefined
  const found = (await site.payments?.rows.receipts(account.accountId, receiptsShown + 1, before)) ?? []
  const shown = found.slice(0, receiptsShown)
  const last = found.length > receiptsShown ? shown.at(-1) : undefined
  return context.html(
    layout(
      page,
      { title: balance.receipts },
      html`<p><a href="/balance">← ${texts.payment.toBalance}</a></p>
        <h1>${balance.receipts}</h1>
        <section class="card">
          ${shown.length === 0 ? html`<p class="quiet">${balance.noReceipts}</p>` : receiptList(page, shown)}
          ${last === undefined ? '' : html`<p><a rel="next" href="/balance/receipts?before=${last.id}">${balance.older}</a></p>`}
        </section>`,
    ),
  )
}
