import { html } from 'hono/html'
import { z } from 'zod'
import {
  createInvoice,
  cancelInvoice,
  listInvoices,
  stillToPay,
  type StoredInvoice,
} from '../../../documents/invoices.ts'
import { DocumentError } from '../../../documents/document.ts'
import { moscowDay } from '../../../ledger/moscow-days.ts'
import { currentCompany } from '../../../documents/company-versions.ts'
import { microsPerKopeck } from '../../../money/kopecks.ts'
import { isId, newId } from '../../../platform/new-id.ts'
import { kopecks, shownDay } from '../../../web/format.ts'
import { fieldSchemas, idField, pathPart, readForm, withError } from '../../../web/http/read-form.ts'
import type { FieldErrorKey } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, Html, OwnPage, Page } from '../../page.ts'
import {
  copyButton,
  buttonForm,
  formProblems,
  notice,
  emptyForm,
  field,
  form,
  type FormState,
} from '../../../web/view/form.ts'
import { facts } from '../../../web/view/data-table.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { sendDocument } from './documents.ts'

/** Invoice numbers must not be wasted. */
const invoicesPerDayMax = 20
const roublesMax = 100_000_000

/** Creates an invoice and shows it. Submitting the same form again shows the same invoice. */
export async function submitInvoice(page: OwnPage): Promise<PageResponse> {
  const { site, account, language } = page
  const { seller } = site.config
  if (seller === undefined) return showFailure(page, 'notFound')
  const schema = z.object({ amount: fieldSchemas.roubles(language), form: idField })
  const sent = await readForm(page, schema)
  const refuse = async (key: FieldErrorKey): Promise<PageResponse> => {
    const state = sent.isValid ? withError(page, sent.state, 'amount', key) : sent.state
    const { invoices, payment } = page.texts
    const view = html`${formProblems(page, state, 'invoice-')} ${await invoiceSection(page, state)}
      <p><a href="/balance">${payment.toBalance}</a></p>`
    return page.context.html(titledPage(page, { title: invoices.title, isNarrow: true }, view), 422)
  }
  if (!sent.isValid) return refuse('amountInvalid')
  const { amount, form: id } = sent.value
  const { accountId } = account
  const now = site.clock.now()
  if (amount === undefined) return refuse('required')
  if (amount % microsPerKopeck !== 0) return refuse('amountKopecks')
  if (amount > roublesMax * 100 * microsPerKopeck) return refuse('invoiceLarge')
  if (id === '') return showFailure(page, 'forbidden')
  if ((await currentCompany(site.records, accountId)) === undefined)
    return seeOther(page, '/settings/company')
  const today = moscowDay(now)
  const own = await listInvoices(site.records, today, { accountId, year: Number(today.slice(0, 4)) })
  const isRepeated = own.some(one => one.id === id)
  if (!isRepeated && own.filter(one => one.document.date === today).length >= invoicesPerDayMax)
    return refuse('invoicesTooMany')
  const made = await createInvoice(site.records, seller, {
    accountId,
    amount: amount / microsPerKopeck,
    at: now,
    id,
  })
  return seeOther(page, `/balance/invoices/${made.id}`)
}

async function ownInvoice(page: OwnPage): Promise<StoredInvoice | undefined> {
  const { site, account } = page
  const id = pathPart(page)
  if (!isId(id)) return undefined
  const [found] = await listInvoices(site.records, moscowDay(site.clock.now()), {
    id,
    accountId: account.accountId,
  })
  return found
}

async function linkedInvoice(page: Page): Promise<StoredInvoice | undefined> {
  const { site } = page
  const token = pathPart(page, 'token')
  if (!/^[\w-]{43,64}$/.test(token)) return undefined
  const [found] = await listInvoices(site.records, moscowDay(site.clock.now()), { token })
  return found
}

function invoiceFacts(page: Page, invoice: StoredInvoice): Html {
  const { document, paid, state } = invoice
  const { invoices } = page.texts
  const left = stillToPay(invoice)
  return facts(
    [
      [invoices.state, invoices.states[state]],
      [invoices.amount, kopecks(document.amount, page.language)],
      [invoices.paid, paid > 0 ? kopecks(paid, page.language) : null],
      [invoices.left, state === 'part-paid' ? kopecks(left.amount, page.language) : null],
      [invoices.payUntil, shownDay(document.payUntil, page.language)],
      [invoices.seller, `${document.seller.name}, ИНН ${document.seller.inn}`],
      [invoices.payer, `${document.buyer.name}, ИНН ${document.buyer.inn}`],
      [invoices.purpose, html`<span id="purpose">${left.purpose}</span> ${copyButton(page, 'purpose')}`],
    ],
    'facts payment-facts',
  )
}

function title(page: Page, { document }: StoredInvoice): string {
  return page.texts.invoices.numbered(document.number, shownDay(document.date, page.language))
}

/** An invoice of the account: its state, its PDF and the link for the payer. */
export async function showInvoice(page: OwnPage): Promise<PageResponse> {
  const invoice = await ownInvoice(page)
  if (invoice === undefined) return showFailure(page, 'notFound')
  const { invoices } = page.texts
  const link = new URL(`/invoices/${invoice.token}`, page.site.publicUrl).href
  const isOpen = invoice.paid === 0 && invoice.state !== 'canceled'
  return titledPage(
    page,
    { title: title(page, invoice), isNarrow: true },
    html`${notice(page)}
      <section class="card">
        ${invoiceFacts(page, invoice)}
        <p><a class="button" href="/balance/invoices/${invoice.id}/pdf">${invoices.download}</a></p>
        <p class="quiet">${invoices.emailed(invoice.document.buyer.email ?? '')}</p>
      </section>
      <section class="card">
        <h2>${invoices.link}</h2>
        <p class="quiet">${invoices.linkHint}</p>
        <p class="row"><a id="invoice-link" href="${link}">${link}</a> ${copyButton(page, 'invoice-link')}</p>
      </section>
      ${
        isOpen
          ? buttonForm(page, {
              action: `/balance/invoices/${invoice.id}/cancel`,
              label: invoices.cancel,
              className: 'link',
            })
          : ''
      }
      <p>
        <a href="/documents">${invoices.all}</a> · <a href="/balance">${page.texts.payment.toBalance}</a>
      </p>`,
  )
}

export async function submitCancelInvoice(page: OwnPage): Promise<PageResponse> {
  const invoice = await ownInvoice(page)
  if (invoice === undefined || invoice.paid > 0) return showFailure(page, 'notFound')
  try {
    await cancelInvoice(page.site.records, invoice.id, page.site.clock.now(), {
      accountId: page.account.accountId,
    })
  } catch (error) {
    // It was already canceled, for instance in another window.
    if (!(error instanceof DocumentError)) throw error
  }
  return seeOther(page, `/balance/invoices/${invoice.id}?notice=invoice-cancelled`)
}

/** An invoice of the account as PDF. */
export async function downloadInvoice(page: OwnPage): Promise<PageResponse> {
  const invoice = await ownInvoice(page)
  return invoice === undefined
    ? showFailure(page, 'notFound')
    : sendDocument(page, invoice.document, invoice.accountId)
}

/** An invoice for anyone who has its link. */
export async function showLinkedInvoice(page: Page): Promise<PageResponse> {
  const invoice = await linkedInvoice(page)
  if (invoice === undefined) return showFailure(page, 'notFound')
  page.context.header('x-robots-tag', 'noindex')
  return titledPage(
    page,
    { title: title(page, invoice), isNarrow: true },
    html`<section class="card">
      ${invoiceFacts(page, invoice)}
      <p><a class="button" href="/invoices/${invoice.token}/pdf">${page.texts.invoices.download}</a></p>
    </section>`,
  )
}

/** The PDF of a linked invoice. */
export async function downloadLinkedInvoice(page: Page): Promise<PageResponse> {
  const invoice = await linkedInvoice(page)
  if (invoice === undefined) return showFailure(page, 'notFound')
  page.context.header('x-robots-tag', 'noindex')
  return sendDocument(page, invoice.document, invoice.accountId)
}

/** The form to create an invoice; without company details, the link to them. */
export async function invoiceSection(page: OwnPage, state: FormState = emptyForm): Promise<Html> {
  const { site, account, texts } = page
  if (site.config.seller === undefined) return html``
  const { invoices } = texts
  const company = await currentCompany(site.records, account.accountId)
  if (company === undefined) {
    return html`<section class="card">
      <h2>${invoices.title}</h2>
      <p>${invoices.forCompanies}</p>
      <p><a class="button plain" href="/settings/company">${invoices.setCompany}</a></p>
    </section>`
  }
  return html`<section class="card">
    <h2>${invoices.title}</h2>
    <p class="quiet">
      ${invoices.buyer(company.details.name, company.details.inn)}
      <a href="/settings/company">${invoices.change}</a>
    </p>
    ${form(
      page,
      '/balance/invoices',
      html`<input type="hidden" name="form" value="${newId()}" />
        ${field(state, {
          id: 'invoice-amount',
          name: 'amount',
          label: texts.balance.amount,
          inputmode: 'decimal',
        })}
        <div class="row">
          <button>${invoices.make}</button>
          <a href="/documents">${invoices.all}</a>
        </div>`,
    )}
  </section>`
}
