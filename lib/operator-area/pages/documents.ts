import { html } from 'hono/html'
import { z } from 'zod'
import { actionStep } from '../../administration/operator-log.ts'
import { listClosing } from '../../documents/closing-documents.ts'
import { DocumentError } from '../../documents/document-error.ts'
import { closeMonth } from '../../documents/month-close.ts'
import { moscowDay, shiftMonth } from '../../ledger/moscow-days.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { money } from '../../web/format.ts'
import { readForm, says } from '../../web/http/read-form.ts'
import { field, form, formProblems, notice } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'

const month = z
  .string(says('required'))
  .trim()
  .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, says('invalid'))
const schema = z.object({ month })

function monthBefore(page: DeskPage): string {
  return shiftMonth(moscowDay(page.site.clock.now()).slice(0, 7), -1)
}

async function view(page: DeskPage, shown: string, state: FormState, said?: string): Promise<Html> {
  const { documents, common } = page.texts
  const { site, language } = page
  const all = await listClosing(site.records, { month: shown })
  return layout(
    page,
    { title: documents.title },
    html`<h1>${documents.title}</h1>
      ${notice(page)} ${formProblems(page, state)}
      ${said === undefined ? '' : html`<p class="notice" role="status">${said}</p>`}
      <form class="search card" action="/documents">
        ${field({ typed: { month: shown }, errors: {} }, { name: 'month', id: 'shown', label: documents.month })}
        <button>${common.find}</button>
      </form>
      <section class="card">
        <h2>${shown}</h2>
        ${dataTable(
          { label: documents.title, empty: common.none },
          [
            { name: documents.number, cell: one => one.document.number },
            { name: common.at, cell: one => one.document.date },
            { name: documents.buyer, cell: one => html`<bdi>${one.document.buyer.name}</bdi>` },
            {
              name: common.account,
              cell: one => html`<a href="/customers/${one.accountId}"><code>${one.accountId}</code></a>`,
            },
            {
              name: common.amount,
              cell: one => money(one.document.amount * microsPerKopeck, language),
              isNumber: true,
            },
            { name: common.state, cell: one => documents.states[one.state] },
          ],
          all,
        )}
      </section>
      ${
        may(page.role, 'money') && site.config.seller !== undefined
          ? html`<section class="card">
              <h2>${documents.close}</h2>
              ${form(
                page,
                '/documents/close',
                html`${field(state, { name: 'month', label: documents.month })}
                  <div><button>${documents.close}</button></div>`,
              )}
            </section>`
          : ''
      }`,
  )
}

/** The closing documents of a month. */
export async function showDocuments(context: PageContext, page: DeskPage): Promise<Response> {
  const asked = month.safeParse(context.req.query('month') ?? monthBefore(page))
  const shown = asked.success ? asked.data : monthBefore(page)
  return context.html(await view(page, shown, { typed: { month: shown }, errors: {} }))
}

/** Makes the documents of a month; done again it makes none. */
export async function submitClose(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, session, texts } = page
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(await view(page, monthBefore(page), sent.state), 422)
  const { seller } = site.config
  const at = site.clock.now()
  if (seller === undefined)
    return context.html(await view(page, sent.value.month, sent.state, texts.transfers.noSeller), 422)
  try {
    const { made } = await closeMonth(site.records, seller, { month: sent.value.month, at })
    const said = texts.documents.closed(made.length)
    const done = { operator: session.user.email, action: 'close-month', accountId: '', at } as const
    await site.records.write([actionStep(site.records, { ...done, reason: `${sent.value.month}: ${said}` })])
    return context.html(await view(page, sent.value.month, sent.state, said))
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    const errors = { month: error.message }
    return context.html(await view(page, monthBefore(page), { ...sent.state, errors }), 422)
  }
}
