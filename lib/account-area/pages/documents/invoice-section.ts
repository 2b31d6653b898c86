import { html } from 'hono/html'
import { CompanyBook } from '../../../documents/company-book.ts'
import { newId } from '../../../platform/new-id.ts'
import type { Html, OwnPage } from '../../page.ts'
import { emptyForm, field, form } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'

/** Where a company makes an invoice; where there is none yet, the way to its details. */
export async function invoiceSection(page: OwnPage, state: FormState = emptyForm): Promise<Html> {
  const { site, account, texts } = page
  if (site.config.seller === undefined) return html``
  const { invoices } = texts
  const company = await new CompanyBook(site.records).current(account.accountId)
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
