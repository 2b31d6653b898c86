import { html } from 'hono/html'
import { money } from '../format.ts'
import type { OwnPage, PageContext } from '../page.ts'
import { notice } from '../view/form.ts'
import { layout } from '../view/layout.ts'

/** What the account has. */
export async function showOverview(context: PageContext, page: OwnPage): Promise<Response> {
  const { overview } = page.texts
  const balance = await page.site.reports.balance(page.account.accountId)
  const { balanceMicros = 0, heldMicros = 0, availableMicros = 0 } = balance ?? {}
  return context.html(
    layout(
      page,
      { title: overview.title },
      html`<h1>${overview.title}</h1>
        ${notice(page)}
        <section class="card">
          <dl class="figures">
            <div class="figure main">
              <dt>${overview.available}</dt>
              <dd>${money(availableMicros)}</dd>
            </div>
            <div class="figure">
              <dt>${overview.balance}</dt>
              <dd>${money(balanceMicros)}</dd>
            </div>
            <div class="figure">
              <dt>${overview.held}</dt>
              <dd>${money(heldMicros)}</dd>
            </div>
          </dl>
          <p class="quiet small">${overview.heldHint}</p>
        </section>`,
    ),
  )
}
