import { html } from 'hono/html'
import { budgetDay, dayStart } from '../../ledger/key-spending.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { readOutcomes, readToday } from '../../stores/records/read-today.ts'
import { count, money } from '../../web/format.ts'
import { notice } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'
import { facts } from '../view/facts.ts'

/** Money in and out, requests, and what waits for a person. */
export async function showToday(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, language } = page
  const { today: texts, common } = page.texts
  const day = budgetDay(site.clock.now())
  const [today, outcomes] = await Promise.all([
    readToday(site.records, dayStart(day)),
    readOutcomes(site.records, day),
  ])
  const charged = outcomes.reduce((sum, one) => sum + one.micros, 0)
  const requests = outcomes.reduce((sum, one) => sum + one.charges, 0)
  const waiting = (path: string, number: number) =>
    number === 0 ? '0' : html`<a href="${path}">${count(number, language)}</a>`
  return context.html(
    layout(
      page,
      { title: texts.title },
      html`<h1>${texts.title}</h1>
        ${notice(page)}
        <section class="card">
          ${facts([
            [texts.paidIn, money(today.paidMicros, language)],
            [texts.transferred, money(today.transferredKopecks * microsPerKopeck, language)],
            [texts.refunded, money(today.refundedMicros, language)],
            [texts.charged, money(charged, language)],
            [texts.requests, count(requests, language)],
            [texts.balances, money(today.balancesMicros, language)],
            [texts.debts, money(today.debtsMicros, language)],
            [texts.indebted, count(today.indebted, language)],
            [texts.blocked, count(today.blocked, language)],
          ])}
        </section>
        <section class="card">
          <h2>${texts.queue}</h2>
          ${facts([
            [texts.queued, waiting('/transfers', today.queued)],
            [texts.differing, waiting('/payments?state=differing', today.differing)],
            [texts.pending, waiting('/payments?state=pending', today.pending)],
            [texts.heldRates, waiting('/prices', today.heldRates)],
          ])}
        </section>
        <section class="card">
          <h2>${texts.outcomes}</h2>
          ${dataTable(
            { label: texts.outcomes, empty: common.none },
            [
              { name: texts.outcome, cell: one => one.outcome },
              { name: texts.requests, cell: one => count(one.charges, language), isNumber: true },
              { name: common.amount, cell: one => money(one.micros, language), isNumber: true },
            ],
            outcomes,
          )}
        </section>`,
    ),
  )
}
