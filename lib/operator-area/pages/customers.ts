import { html } from 'hono/html'
import { formatRoubles } from '../../money/amount.ts'
import { searchAccounts, type FoundAccount } from '../../stores/records/find-accounts.ts'
import { money } from '../../web/format.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { listSection } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

/** Customers, those that came last first. */
export function customerList(page: DeskPage): DeskList<FoundAccount> {
  const { customers, common } = page.texts
  const { language, site } = page
  return {
    path: '/customers',
    label: customers.title,
    empty: customers.empty,
    filters: [
      { name: 'q', label: customers.search },
      {
        name: 'state',
        label: common.state,
        options: { '': common.all, blocked: customers.blocked, indebted: customers.indebted },
      },
    ],
    columns: [
      {
        name: customers.created,
        sort: 'created',
        cell: one => html`<a href="/customers/${one.id}"><code>${one.id}</code></a>`,
        csv: one => one.id,
      },
      { name: common.email, sort: 'email', cell: one => one.email ?? '', csv: one => one.email ?? '' },
      { name: common.name, cell: one => one.name ?? '', csv: one => one.name ?? '' },
      {
        name: customers.balance,
        sort: 'balance',
        cell: one => money(one.balanceMicros, language),
        csv: one => ({ number: formatRoubles(one.balanceMicros) }),
        isNumber: true,
      },
      {
        name: common.state,
        cell: one =>
          one.blockedAt === null ? '' : html`<span class="badge bad">${customers.blocked}</span>`,
        csv: one => (one.blockedAt === null ? '' : customers.blocked),
      },
    ],
    read({ filters, sort, isDescending, limit, offset }) {
      const only = (['blocked', 'indebted'] as const).find(one => one === filters['state'])
      const by = (['created', 'email', 'balance'] as const).find(one => one === sort)
      const order = { ...(by !== undefined && { sort: by }), isDescending }
      return searchAccounts(site.records, { text: filters['q'] ?? '', only, ...order, limit, offset })
    },
  }
}

/** Searches accounts. */
export async function showCustomers(context: PageContext, page: DeskPage): Promise<Response> {
  const { customers } = page.texts
  const { view, status } = await listSection(context, page, customerList(page))
  return context.html(
    layout(
      page,
      { title: customers.title },
      html`<h1>${customers.title}</h1>
        ${view}`,
    ),
    status,
  )
}
