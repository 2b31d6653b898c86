import { html } from 'hono/html'
import { z } from 'zod'
import { DocumentError, documentName, type PrintedDocument } from '../../../documents/document.ts'
import { listClosing, type ListedClosing } from '../../../documents/closing-documents.ts'
import { currentCompany } from '../../../documents/company-versions.ts'
import { listInvoices, type StoredInvoice } from '../../../documents/invoices.ts'
import { monthFiles, zipFiles } from '../../../documents/month-files.ts'
import { isDay, isMonth, lastDay, moscowDay } from '../../../ledger/moscow-days.ts'
import { reconcile } from '../../../documents/reconcile-account.ts'
import { isId } from '../../../platform/new-id.ts'
import { kopecks } from '../../../web/format.ts'
import { pathPart, readQuery, says } from '../../../web/http/read-form.ts'
import type { PageResponse, Html, OwnPage, Page } from '../../page.ts'
import { emptyForm, field, formProblems, notice, type FormState } from '../../../web/view/form.ts'
import { dataTable } from '../../../web/view/data-table.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { PrintError, printDocument } from '../../../documents/print/document-printer.ts'

/** A file for download. */
interface Download {
  /** Without its extension. */
  readonly name: string
  readonly ending: 'pdf' | 'zip'
  readonly bytes: Uint8Array
}

/** RFC 6266, 4.3: the name in UTF-8, and an ASCII name for clients that do not support it. */
function attachment(name: string, ending: string): string {
  const plain = `document.${ending}`
  const encoded = encodeURIComponent(`${name}.${ending}`).replaceAll(
    /['()*]/g,
    one => `%${one.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** Sends printed documents. An account may print only a few at a time, because all accounts share the printer. */
async function sendPrinted(
  page: Page,
  accountId: string,
  print: () => Promise<Download>,
): Promise<PageResponse> {
  const { site } = page
  if (!(await site.printAttempts.begin(accountId))) return showFailure(page, 'tooOften')
  try {
    const { name, ending, bytes } = await print()
    return page.context.body(new Uint8Array(bytes), 200, {
      'content-type': `application/${ending}`,
      'content-disposition': attachment(name, ending),
    })
  } catch (error) {
    if (!(error instanceof PrintError)) throw error
    site.log.error({ error, requestId: page.requestId }, 'a document could not be printed')
    return showFailure(page, 'unavailable')
  }
}

/** A document as PDF. */
export function sendDocument(
  page: Page,
  document: PrintedDocument,
  accountId: string,
): Promise<PageResponse> {
  const { records, printer } = page.site
  return sendPrinted(page, accountId, async () => ({
    name: documentName(document),
    ending: 'pdf',
    bytes: await printDocument(records, printer, document),
  }))
}

const yearMin = 2020

/** Closing documents, the latest first. */
function closingTable({ texts, language }: OwnPage, closing: readonly ListedClosing[]): Html {
  const { documents, invoices } = texts
  const stateOf = ({ state, isReplaced }: ListedClosing): string =>
    isReplaced ? `${documents.states[state]}, ${documents.replaced}` : documents.states[state]
  return dataTable(
    { label: documents.closing, empty: documents.noClosing },
    [
      {
        name: documents.document,
        cell: one => html`<a href="/documents/closing/${one.id}">${documentName(one.document)}</a>`,
      },
      { name: invoices.amount, cell: one => kopecks(one.document.amount, language), isNumber: true },
      {
        name: documents.tax,
        cell: ({ document }) =>
          document.tax.rate === 'none' ? documents.noTax : kopecks(document.vat, language),
        isNumber: true,
      },
      { name: invoices.state, cell: stateOf },
      {
        name: documents.archives,
        cell: ({ month }) =>
          html`<a href="/documents/months/${month}" title="${documents.archiveHint}"
            >${documents.archive}</a
          >`,
      },
    ],
    closing.toReversed(),
  )
}

function invoiceTable({ texts, language }: OwnPage, made: readonly StoredInvoice[]): Html {
  const { documents, invoices } = texts
  const empty = html`${documents.noInvoices} <a href="/balance#invoice-amount">${invoices.make}</a>`
  return dataTable(
    { label: invoices.plural, empty },
    [
      {
        name: documents.document,
        cell: one => html`<a href="/balance/invoices/${one.id}">${documentName(one.document)}</a>`,
      },
      { name: invoices.amount, cell: one => kopecks(one.document.amount, language), isNumber: true },
      { name: invoices.paid, cell: one => kopecks(one.paid, language), isNumber: true },
      { name: invoices.state, cell: one => invoices.states[one.state] },
    ],
    made,
  )
}

function years(page: OwnPage, all: readonly number[], chosen: number): Html {
  const { documents } = page.texts
  return html`<nav class="tabs" aria-label="${documents.years}">
    <ul>
      ${all.map(
        year =>
          html`<li>
            <a href="/documents?year=${year}" ${year === chosen ? html`aria-current="page"` : ''}>${year}</a>
          </li>`,
      )}
    </ul>
  </nav>`
}

function reconciliationForm({ texts: { documents } }: OwnPage, state: FormState): Html {
  return html`<section class="card">
    <h2>${documents.reconciliation}</h2>
    <p class="quiet">${documents.reconciliationHint}</p>
    <form method="get" action="/documents/reconciliation" class="stack" novalidate>
      ${field(state, { name: 'from', label: documents.from, type: 'date' })}
      ${field(state, { name: 'to', label: documents.to, type: 'date' })}
      <div><button class="plain">${documents.make}</button></div>
    </form>
  </section>`
}

/** The page, also after the dates of a reconciliation were rejected. */
async function view(page: OwnPage, year: number, state: FormState): Promise<Html> {
  const { site, account, texts } = page
  const { documents, invoices } = texts
  const { accountId } = account
  const company = await currentCompany(site.records, accountId)
  if (company === undefined) {
    return titledPage(
      page,
      { title: documents.title },
      html`<section class="card">
        <p>${documents.forCompanies}</p>
        <p><a class="button" href="/settings/company">${invoices.setCompany}</a></p>
      </section>`,
    )
  }
  const today = moscowDay(site.clock.now())
  const [closing, made] = await Promise.all([
    listClosing(site.records, { accountId, year }),
    listInvoices(site.records, today, { accountId, year }),
  ])
  const first = Number(moscowDay(company.since).slice(0, 4))
  const last = Number(today.slice(0, 4))
  const all = Array.from({ length: last - first + 1 }, (_, index) => last - index)
  const typed = { from: `${year}-01-01`, to: year === last ? today : `${year}-12-31`, ...state.typed }
  return titledPage(
    page,
    { title: documents.title },
    html`${notice(page)} ${formProblems(page, state)} ${years(page, all, year)}
      <section class="card">
        <h2>${documents.closing}</h2>
        ${closingTable(page, closing)}
      </section>
      <section class="card">
        <h2>${invoices.plural}</h2>
        ${invoiceTable(page, made)}
      </section>
      ${reconciliationForm(page, { ...state, typed })}
      <p><a href="/settings/company">${documents.company}</a></p>`,
  )
}

function yearOf(page: OwnPage): number {
  const today = Number(moscowDay(page.site.clock.now()).slice(0, 4))
  const year = Number(page.context.req.query('year') ?? today)
  return Number.isInteger(year) && year >= yearMin && year <= today ? year : today
}

/** Invoices, closing documents and the reconciliation statement of a company, by year. */
export async function showDocuments(page: OwnPage): Promise<PageResponse> {
  if (page.site.config.seller === undefined) return showFailure(page, 'notFound')
  return await view(page, yearOf(page), emptyForm)
}

/** An act or universal transfer document as PDF. */
export async function downloadClosing(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  const id = pathPart(page)
  const { accountId } = account
  const found = isId(id)
    ? (await listClosing(site.records, { accountId })).find(one => one.id === id)
    : undefined
  return found === undefined ? showFailure(page, 'notFound') : sendDocument(page, found.document, accountId)
}

/** All documents of an account's month in one archive, for the company's accountant. */
export async function downloadMonth(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const { accountId } = account
  const month = pathPart(page, 'month')
  const found = isMonth(month) ? await listClosing(site.records, { accountId, month }) : []
  if (found.length === 0) return showFailure(page, 'notFound')
  return sendPrinted(page, accountId, async () => ({
    name: `${texts.documents.title} ${month}`,
    ending: 'zip',
    bytes: zipFiles(await monthFiles(site.records, site.printer, found), lastDay(month)),
  }))
}

const day = z.string(says('required')).refine(isDay, says('dayInvalid'))
const period = z.object({ from: day, to: day }).refine(({ from, to }) => from <= to, {
  path: ['to'],
  ...says('daysSwapped'),
})

/** A reconciliation statement for any period, as PDF. */
export async function downloadReconciliation(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  const { seller } = site.config
  if (seller === undefined) return showFailure(page, 'notFound')
  const sent = readQuery(page, period)
  if (!sent.isValid) return page.context.html(await view(page, yearOf(page), sent.state), 422)
  const { accountId } = account
  try {
    const statement = await reconcile(site.records, seller, { accountId, ...sent.value })
    return await sendDocument(page, statement, accountId)
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return showFailure(page, 'notFound')
  }
}
