import { html } from 'hono/html'
import { z } from 'zod'
import { searchClosing, type StoredClosing } from '../../documents/closing-documents.ts'
import { DocumentError } from '../../documents/document.ts'
import { closeMonth } from '../../documents/month-close.ts'
import { moscowDay, shiftMonth } from '../../ledger/moscow-days.ts'
import { formatRoubles } from '../../money/amount.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { money } from '../../web/format.ts'
import { readForm, says } from '../../web/http/read-form.ts'
import { emptyForm, field, form, formProblems, notice } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { listSection } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

const month = z
  .string(says('required'))
  .trim()
  .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, says('invalid'))
const schema = z.object({ month })

const states = ['issued', 'sent', 'signed'] as const

/** Closing documents, the latest first. */
export function documentList(page: DeskPage): DeskList<StoredClosing> {
  const { documents, common } = page.texts
  const { site, language } = page
  return {
    path: '/documents',
    label: documents.title,
    empty: common.none,
    filters: [
      { name: 'month', label: documents.month },
      { name: 'state', label: common.state, options: { '': common.all, ...documents.states } },
      { name: 'q', label: documents.search },
    ],
    columns: [
      { name: documents.number, cell: one => one.document.number, csv: one => one.document.number },
      {
        name: common.at,
        sort: 'month',
        cell: one => html`<span class="day">${one.document.date}</span>`,
        csv: one => one.document.date,
      },
      {
        name: documents.buyer,
        cell: one => html`<bdi>${one.document.buyer.name}</bdi>`,
        csv: one => one.document.buyer.name,
      },
      {
        name: common.account,
        cell: one => html`<a href="/customers/${one.accountId}"><code>${one.accountId}</code></a>`,
        csv: one => one.accountId,
      },
      {
        name: common.amount,
        sort: 'amount',
        cell: one => money(one.document.amount * microsPerKopeck, language),
        csv: one => ({ number: formatRoubles(one.document.amount * microsPerKopeck) }),
        isNumber: true,
      },
      {
        name: common.state,
        cell: one => documents.states[one.state],
        csv: one => documents.states[one.state],
      },
    ],
    read({ filters: { month: asked = '', state = '', q = '' }, sort, ...rest }) {
      return searchClosing(site.records, {
        ...rest,
        month: asked,
        state: states.find(one => one === state),
        text: q,
        sort: sort === 'amount' ? 'amount' : 'month',
      })
    },
  }
}

async function answer(
  context: PageContext,
  page: DeskPage,
  { state = emptyForm, said }: { readonly state?: FormState; readonly said?: string } = {},
): Promise<Response> {
  const { documents } = page.texts
  const { site } = page
  const { view, status } = await listSection(context, page, documentList(page))
  const isWrong = Object.keys(state.errors).length > 0
  const lastMonth = shiftMonth(moscowDay(site.clock.now()).slice(0, 7), -1)
  const shown = state === emptyForm ? { typed: { month: lastMonth }, errors: {} } : state
  const content = html`<h1>${documents.title}</h1>
    ${notice(page)} ${formProblems(page, state)}
    ${said === undefined ? '' : html`<p class="notice" role="status">${said}</p>`} ${view}
    ${
      may(page.role, 'money') && site.config.seller !== undefined
        ? html`<section class="card">
            <h2>${documents.close}</h2>
            ${form(
              page,
              '/documents/close',
              html`${field(shown, { name: 'month', id: 'closed', label: documents.month })}
                <div><button>${documents.close}</button></div>`,
            )}
          </section>`
        : ''
    }`
  return context.html(layout(page, { title: documents.title }, content), isWrong ? 422 : status)
}

/** Closing documents, and where a month is closed. */
export function showDocuments(context: PageContext, page: DeskPage): Promise<Response> {
  return answer(context, page)
}

/** Makes the documents of a month; done again it makes none. */
export async function submitClose(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, session, texts } = page
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return answer(context, page, { state: sent.state })
  const { seller } = site.config
  if (seller === undefined)
    return answer(context, page, { state: { ...sent.state, errors: { month: texts.transfers.noSeller } } })
  const { month } = sent.value
  const operator = session.user.email
  try {
    const { made } = await closeMonth(site.records, seller, { month, at: site.clock.now(), operator })
    const said = texts.documents.closed(made.length)
    return await answer(context, page, { state: sent.state, said })
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return answer(context, page, { state: { ...sent.state, errors: { month: error.message } } })
  }
}
