import { html } from 'hono/html'
import { findAccounts } from '../../stores/records/find-accounts.ts'
import type { FoundAccount } from '../../stores/records/find-accounts.ts'
import { money } from '../../web/format.ts'
import { emptyForm, field } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'

function view(page: DeskPage, state: FormState, found: readonly FoundAccount[] | undefined): Html {
  const { language } = page
  const { customers, common } = page.texts
  return layout(
    page,
    { title: customers.title },
    html`<h1>${customers.title}</h1>
      <form class="search card" action="/customers">
        ${field(state, { name: 'q', label: customers.search, type: 'search' })}
        <button>${common.find}</button>
      </form>
      ${
        found === undefined
          ? ''
          : html`<section class="card">
              ${dataTable(
                { label: customers.title, empty: customers.empty },
                [
                  {
                    name: common.email,
                    cell: one => html`<a href="/customers/${one.id}">${one.email ?? one.id}</a>`,
                  },
                  { name: common.name, cell: one => one.name ?? '' },
                  { name: common.id, cell: one => html`<code>${one.id}</code>` },
                  {
                    name: customers.balance,
                    cell: one => money(one.balanceMicros, language),
                    isNumber: true,
                  },
                  {
                    name: common.state,
                    cell: one =>
                      one.blockedAt === null ? '' : html`<span class="badge bad">${customers.blocked}</span>`,
                  },
                ],
                found,
              )}
            </section>`
      }`,
  )
}

/** Searches accounts. */
export async function showCustomers(context: PageContext, page: DeskPage): Promise<Response> {
  const q = context.req.query('q')
  if (q === undefined) return context.html(view(page, emptyForm, undefined))
  try {
    const found = await findAccounts(page.site.records, q)
    return await context.html(view(page, { typed: { q }, errors: {} }, found))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const typed = { q: q.slice(0, 200) }
    return context.html(view(page, { typed, errors: { q: page.texts.customers.tooLong } }, undefined), 422)
  }
}
