import { html } from 'hono/html'
import { z } from 'zod'
import { cleanCompanyDetails, companyProblems } from '../../../companies/company-details.ts'
import type { CompanyDetails, DetailProblem } from '../../../companies/company-details.ts'
import { currentCompany, setCompany } from '../../../documents/company-versions.ts'
import { readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { choice, field, form, formProblems, notice } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { settingCard, titledPage } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { settingsTabs } from '../../view/account-frame.ts'
import type { Texts } from '../../texts/texts.ts'

const text = z.string().max(4000).default('')
/** Fields are named by their path in the details, as problems are. */
const schema = z.object({
  kind: z.enum(['company', 'sole']).catch('company'),
  name: text,
  inn: text,
  kpp: text,
  ogrn: text,
  address: text,
  email: text,
  'bank.name': text,
  'bank.bic': text,
  'bank.account': text,
  'bank.correspondentAccount': text,
  'signer.name': text,
  'signer.position': text,
  ediId: text,
})

type Typed = z.output<typeof schema>

function detailsOf(typed: Typed): CompanyDetails {
  const { kind, name, inn, kpp, ogrn, address, email, ediId } = typed
  return cleanCompanyDetails({
    kind,
    name,
    inn,
    kpp,
    ogrn,
    address,
    email,
    bank: {
      name: typed['bank.name'],
      bic: typed['bank.bic'],
      account: typed['bank.account'],
      correspondentAccount: typed['bank.correspondentAccount'],
    },
    signer: { name: typed['signer.name'], position: typed['signer.position'] },
    ediId,
  })
}

function typedOf({ bank, signer, ...details }: CompanyDetails): Record<string, string> {
  const parts = { bank, signer }
  return {
    ...details,
    ...Object.fromEntries(
      Object.entries(parts).flatMap(([part, values]) =>
        Object.entries(values ?? {}).map(([key, value]) => [`${part}.${key}`, String(value)]),
      ),
    ),
  }
}

function shown(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `«${character}»` : `U+${code}`
}

/** A problem in the user's language, with the wrong digit. */
function companyProblem({ company, fieldErrors }: Texts, problem: DetailProblem): string {
  const { problems } = company
  switch (problem.kind) {
    case 'tooLong':
      return problems.tooLong(problem.found, problem.max)
    case 'unprintable':
      return problems.unprintable(shown(problem.found), problem.position)
    case 'length':
      return problems.length(problem.found, problem.expected.join(problems.or))
    case 'character':
      return problems.character(problem.found, problem.position)
    case 'prefix':
      return problems.prefix(problem.found, problem.expected.join(problems.or))
    case 'checkDigit':
      return problems.checkDigit(problem.position, problem.found, problem.expected)
    case 'email':
      return fieldErrors.emailInvalid
    case 'missing':
    case 'personName':
    case 'ediId':
    case 'unexpected':
      return problems[problem.kind]
  }
}

function errorsOf(page: OwnPage, details: CompanyDetails): Record<string, string> {
  return Object.fromEntries(
    companyProblems(details).map(one => [one.field, companyProblem(page.texts, one.problem)]),
  )
}

function fieldsOf(page: OwnPage, state: FormState): Html {
  const { company } = page.texts
  const number = (name: string, label: string, hint?: string, isOptional = false): Html =>
    field(state, { name, label, inputmode: 'numeric', isOptional, ...(hint !== undefined && { hint }) })
  const words = (name: string, label: string, hint?: string, isOptional = false): Html =>
    field(state, { name, label, isOptional, ...(hint !== undefined && { hint }) })
  const more = ['bank.name', 'bank.bic', 'signer.name', 'ediId']
  const isOpen = Object.keys(state.errors).some(name => /^bank|^signer|^ediId/.test(name))
  const hasMore = isOpen || more.some(name => (state.typed[name] ?? '') !== '')
  return html`${choice(state, { name: 'kind', label: company.kind, options: company.kinds })}
    ${words('name', company.name, company.nameHint)} ${number('inn', company.inn)}
    ${words('kpp', company.kpp, company.kppHint, true)} ${number('ogrn', company.ogrn)}
    ${words('address', company.address, company.addressHint)}
    ${field(state, { name: 'email', label: company.email, type: 'email' })}
    <details ${hasMore ? html`open` : ''}>
      <summary>${company.more}</summary>
      <div class="stack">
        ${words('bank.name', company.bankName, undefined, true)}
        ${number('bank.bic', company.bic, undefined, true)}
        ${number('bank.account', company.account, undefined, true)}
        ${number('bank.correspondentAccount', company.correspondentAccount, undefined, true)}
        ${words('signer.name', company.signerName, undefined, true)}
        ${words('signer.position', company.signerPosition, undefined, true)}
        ${words('ediId', company.ediId, company.ediIdHint, true)}
      </div>
    </details>`
}

function view(page: OwnPage, state: FormState): Html {
  const { company } = page.texts
  return titledPage(
    page,
    { title: company.title },
    html`${settingsTabs(page)} ${notice(page)} ${formProblems(page, state)}
    ${settingCard(
      company.heading,
      company.hint,
      html`<div data-check="/settings/company/check">
        ${form(
          page,
          '/settings/company',
          html`${fieldsOf(page, state)}
            <div><button>${company.save}</button></div>`,
        )}
      </div>`,
    )}`,
  )
}

/** The form with the details of the account's company. */
export async function showCompany(page: OwnPage): Promise<PageResponse> {
  if (page.site.config.seller === undefined) return showFailure(page, 'notFound')
  const version = await currentCompany(page.site.records, page.account.accountId)
  const typed = version === undefined ? { email: page.session.user.email } : typedOf(version.details)
  return view(page, { typed, errors: {} })
}

/** Stores the details as a new version. */
export async function submitCompany(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  if (site.config.seller === undefined) return showFailure(page, 'notFound')
  const sent = await readForm(page, schema)
  if (!sent.isValid) return page.context.html(view(page, sent.state), 422)
  const details = detailsOf(sent.value)
  const errors = errorsOf(page, details)
  if (Object.keys(errors).length > 0)
    return page.context.html(view(page, { typed: sent.state.typed, errors }), 422)
  await setCompany(site.records, account.accountId, details, site.clock.now())
  return seeOther(page, '/settings/company?notice=company-saved')
}

/** Validates details while they are typed: `{"inn":"..."}`. Nothing is stored. */
export async function checkCompany(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, schema)
  return page.context.json(sent.isValid ? errorsOf(page, detailsOf(sent.value)) : sent.state.errors)
}
