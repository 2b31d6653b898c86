import { html } from 'hono/html'
import { formatRoubles } from '../../money/amount.ts'
import { searchCharges, type ListedCharge } from '../../stores/records/desk-queries.ts'
import { exactRoubles, isoTime, time } from '../../web/format.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dayFilters, listSection, momentsOf } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'
import { named } from '../view/named.ts'

/** Charged requests of all customers, the latest first. */
export function requestList(page: DeskPage): DeskList<ListedCharge> {
  const { customer, common, requests } = page.texts
  const { language, site } = page
  const text = (one: 'requestId' | 'keyId' | 'provider' | 'model') => (row: ListedCharge) => row[one]
  return {
    path: '/requests',
    label: requests.title,
    empty: common.none,
    filters: [
      { name: 'request', label: customer.request },
      { name: 'account', label: common.account },
      { name: 'model', label: customer.model },
      { name: 'outcome', label: customer.outcome, options: { '': common.all, ...requests.outcomes } },
      ...dayFilters(page),
    ],
    columns: [
      {
        name: common.at,
        sort: 'at',
        cell: one => time(one.at, language, page.site.config.timeZone),
        csv: one => isoTime(one.at, page.site.config.timeZone),
      },
      { name: customer.request, cell: one => html`<code>${one.requestId}</code>`, csv: text('requestId') },
      {
        name: common.account,
        cell: one => html`<a href="/customers/${one.accountId}"><code>${one.accountId}</code></a>`,
        csv: one => one.accountId,
      },
      { name: requests.key, cell: one => html`<code>${one.keyId}</code>`, csv: text('keyId') },
      { name: customer.model, cell: one => html`<bdi>${one.model}</bdi>`, csv: text('model') },
      { name: customer.provider, cell: text('provider'), csv: text('provider') },
      { name: customer.outcome, cell: one => named(requests.outcomes, one.outcome), csv: one => one.outcome },
      {
        name: common.amount,
        cell: one => exactRoubles(formatRoubles(one.amountMicros), language),
        csv: one => ({ number: formatRoubles(one.amountMicros) }),
        isNumber: true,
      },
    ],
    read({ filters, isDescending, limit, offset }) {
      const { request: requestId = '', account: accountId = '', model = '', outcome = '' } = filters
      const found = { requestId, accountId, model, outcome, ...momentsOf(page, filters) }
      return searchCharges(site.records, { ...found, isDescending, limit, offset })
    },
  }
}

/** What was asked of models, and what it cost. */
export async function showRequests(context: PageContext, page: DeskPage): Promise<Response> {
  const { requests } = page.texts
  const { view, status } = await listSection(context, page, requestList(page))
  const content = html`<h1>${requests.title}</h1>
    <p class="quiet">${requests.hint}</p>
    ${view}`
  return context.html(layout(page, { title: requests.title }, content), status)
}
