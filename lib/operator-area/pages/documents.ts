import { html } from 'hono/html'
import { z } from 'zod'
import { searchClosing, type ListedClosing } from '../../documents/closing-documents.ts'
import { documentName } from '../../documents/document.ts'
import { closeMonth } from '../../documents/month-close.ts'
import { isMonth, moscowDay, shiftMonth } from '../../ledger/moscow-days.ts'
import { formatRoubles } from '../../money/amount.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { readForm, says } from '../../web/http/read-form.ts'
import { emptyForm, field, form, formProblems, type FormState } from '../../web/view/form.ts'
import type { PageResponse } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'
import { accountColumn, amountColumn, showList, textColumn, type DeskList } from '../view/desk-list.ts'
import { attempt } from '../view/shown-reason.ts'

const schema = z.object({ month: z.string(says('required')).trim().refine(isMonth, says('invalid')) })

const states = ['issued', 'sent', 'signed'] as const

/** The state of a document, and whether a correction replaces it. */
export function closingState(
  { texts: { documents } }: DeskPage,
  { state, isReplaced }: ListedClosing,
): string {
  return isReplaced ? `${documents.states[state]}, ${documents.replaced}` : documents.states[state]
}

/** Closing documents, the latest first. */
export function documentList(page: DeskPage): DeskList<ListedClosing> {
  const { documents, common } = page.texts
  const { site } = page
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
      textColumn(documents.document, one => documentName(one.document)),
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
      accountColumn(page, one => one.accountId),
      {
        ...amountColumn<ListedClosing>(page, common.amount, one => one.document.amount * microsPerKopeck, {
          sort: 'amount',
        }),
        // Replaced documents have no amount, so that the column sums to the sales.
        csv: one => (one.isReplaced ? '' : { number: formatRoubles(one.document.amount * microsPerKopeck) }),
      },
      textColumn(common.state, one => closingState(page, one)),
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

/** Closing documents, and the form that closes a month. */
export function showDocuments(
  page: DeskPage,
  { state = emptyForm, said }: { readonly state?: FormState; readonly said?: string } = {},
): Promise<PageResponse> {
  const { documents } = page.texts
  const { site } = page
  const lastMonth = shiftMonth(moscowDay(site.clock.now()).slice(0, 7), -1)
  const shown = state === emptyForm ? { typed: { month: lastMonth }, errors: {} } : state
  const above = formProblems(page, state, 'close-')
  const below = html`<section class="card">
    <h2>${documents.close}</h2>
    ${form(
      page,
      '/documents/close',
      html`${field(shown, { name: 'month', id: 'close-month', label: documents.month })}
        <div><button>${documents.close}</button></div>`,
    )}
  </section>`
  return showList(page, documentList(page), {
    above,
    said,
    ...(may(page.role, 'money') && site.config.seller !== undefined && { below }),
    isWrong: Object.keys(state.errors).length > 0,
  })
}

/** Creates the documents of a month; a second run creates none. */
export async function submitClose(page: DeskPage): Promise<PageResponse> {
  const { site, operator, texts } = page
  const sent = await readForm(page, schema)
  if (!sent.isValid) return showDocuments(page, { state: sent.state })
  const refuse = (reason: string) =>
    showDocuments(page, { state: { ...sent.state, errors: { month: reason } } })
  const { seller } = site.config
  if (seller === undefined) return refuse(texts.transfers.noSeller)
  const { month } = sent.value
  const at = site.clock.now()
  const { refused, done } = await attempt(page, () =>
    closeMonth(site.records, seller, { month, at, operator }),
  )
  if (refused !== undefined) return refuse(refused)
  const { closed, notOver } = texts.documents
  const said = closed(done.made.length) + (month === moscowDay(at).slice(0, 7) ? ` ${notOver}` : '')
  return showDocuments(page, { state: sent.state, said })
}
