import { html } from 'hono/html'
import type { KeyRecord } from '../../accounts/accounts.ts'
import { readActions } from '../../administration/operator-log.ts'
import { currentCompany } from '../../documents/company-versions.ts'
import type { AccountReport, ChargeReport } from '../../ledger/reports.ts'
import { exactRoubles, longDay, money, smallMoney, time, named } from '../../web/format.ts'
import { pathPart } from '../../web/http/read-form.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { formProblems, notice } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { Answer, Html } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'
import { shownTime } from '../view/desk-list.ts'
import { dataTable, facts } from '../../web/view/data-table.ts'
import { customerActions, type SentForm } from './customer-forms.ts'
import { closingState } from './documents.ts'
import { actionTable, movementColumns } from './lists.ts'
import { paymentTable } from './payments.ts'
import { readConsents, readNotes } from '../../administration/account-acts.ts'
import { listClosing } from '../../documents/closing-documents.ts'
import { documentName } from '../../documents/document.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'

const shownMax = 20

function section(title: string, content: Html): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    ${content}
  </section>`
}

/** The latest rows, and the way to all of them. */
function latest(page: DeskPage, title: string, content: Html, path: string): Html {
  return section(
    title,
    html`${content}
      <p class="row"><a href="${path}">${page.texts.common.all}</a></p>`,
  )
}

function requestTable(page: DeskPage, charges: readonly ChargeReport[]): Html {
  const { customer, common } = page.texts
  const { language } = page
  return dataTable(
    { label: customer.requests, empty: common.none },
    [
      { name: common.at, cell: one => shownTime(page, Date.parse(one.at)) },
      { name: customer.request, cell: one => html`<code>${one.requestId}</code>` },
      { name: customer.model, cell: one => html`<bdi>${one.model}</bdi>` },
      { name: customer.provider, cell: one => one.provider },
      {
        name: customer.outcome,
        cell: one => [named(page.texts.requests.outcomes, one.outcome), ...one.flags].join(', '),
      },
      { name: common.amount, cell: one => exactRoubles(one.amount, language), isNumber: true },
      {
        name: customer.returned,
        cell: one => (one.returned === undefined ? '' : exactRoubles(one.returned, language)),
        isNumber: true,
      },
    ],
    charges,
  )
}

async function movementTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  return dataTable(
    { label: customer.movements, empty: common.none },
    movementColumns(page),
    await page.site.movements.page(accountId, { limit: shownMax }),
  )
}

/** What a key is limited to: `100,00 ₽ each day; gpt-5; 10.0.0.0/8; until 31.01.2027, 00:00 MSK`. */
function limitsOf(
  { language, texts, site }: DeskPage,
  { budgetMicros, budgetPeriod = 'total', models, ipAddresses, expiresAt }: KeyRecord,
): string {
  const { customer, editKey } = texts
  const period = budgetPeriod === 'total' ? customer.inAll : editKey.periods[budgetPeriod]
  const budget = budgetMicros === undefined ? [] : [`${smallMoney(budgetMicros, language)} ${period}`]
  return [
    ...budget,
    ...[models, ipAddresses].flatMap(list => (list === undefined ? [] : [list.join(', ')])),
    ...(expiresAt === undefined ? [] : [customer.until(time(expiresAt, language, site.config.timeZone))]),
  ].join('; ')
}

function stateOf({ texts, site }: DeskPage, { revokedAt, expiresAt }: KeyRecord): string {
  const { customer } = texts
  if (revokedAt !== undefined) return customer.revoked
  return expiresAt !== undefined && expiresAt <= site.clock.now() ? customer.expired : customer.active
}

async function people(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  const { site } = page
  const [members, keys] = await Promise.all([site.members.list(accountId), site.reports.keys(accountId)])
  const memberTable = dataTable(
    { label: customer.people, empty: common.none },
    [
      { name: common.email, cell: one => one.email },
      { name: customer.role, cell: one => customer.roles[one.role] },
    ],
    members,
  )
  const keyTable = dataTable(
    { label: customer.keys, empty: common.none },
    [
      { name: common.name, cell: one => html`<bdi>${one.name}</bdi>` },
      { name: common.id, cell: one => html`<code>${one.id}</code>` },
      { name: customer.ending, cell: one => one.lastFour },
      { name: common.state, cell: one => stateOf(page, one) },
      { name: customer.limits, cell: one => html`<bdi>${limitsOf(page, one)}</bdi>` },
      {
        name: '',
        cell: one =>
          may(page.role, 'manage') && one.revokedAt === undefined
            ? html`<a href="/customers/${accountId}/keys/${one.id}">${page.texts.editKey.open}</a>`
            : '',
      },
    ],
    keys,
  )
  return html`${section(customer.people, memberTable)} ${section(customer.keys, keyTable)}`
}

function summary(page: DeskPage, account: AccountReport, blockedAt: number | null): Html {
  const { customer } = page.texts
  const { language } = page
  return html`${
      blockedAt === null
        ? ''
        : html`<p class="notice bad">${customer.blockedSince(shownTime(page, blockedAt))}</p>`
    }
    <section class="card">
      ${facts([
        [customer.balance, money(account.balanceMicros, language)],
        [customer.available, money(account.availableMicros, language)],
        [customer.held, money(account.heldMicros, language)],
        [customer.debt, money(account.debtMicros, language)],
        [customer.risk, money(account.riskMicros, language)],
        [customer.paid, money(account.paidMicros, language)],
        [customer.since, longDay(account.createdAt, language, page.site.config.timeZone)],
        [page.texts.common.id, html`<code>${account.id}</code>`],
      ])}
    </section>`
}

const notesMax = 100

/** What operators noted about a customer. */
async function noteTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, log } = page.texts
  return dataTable(
    { label: customer.notes, empty: common.none },
    [
      { name: common.at, cell: one => shownTime(page, one.at) },
      { name: log.who, cell: one => one.operator },
      { name: customer.note, cell: one => html`<div class="words"><bdi>${one.note}</bdi></div>` },
    ],
    await readNotes(page.site.records, accountId, notesMax),
  )
}

/** The closing documents of a customer, the newest first. */
async function documentTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, documents } = page.texts
  const all = await listClosing(page.site.records, { accountId })
  return dataTable(
    { label: customer.documents, empty: common.none },
    [
      { name: documents.document, cell: one => documentName(one.document) },
      { name: common.at, cell: one => html`<span class="day">${one.document.date}</span>` },
      {
        name: common.amount,
        cell: one => money(one.document.amount * microsPerKopeck, page.language),
        isNumber: true,
      },
      { name: common.state, cell: one => closingState(page, one) },
    ],
    all.toReversed(),
  )
}

/** What the users of a customer agreed to. */
async function consentTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  return dataTable(
    { label: customer.consents, empty: common.none },
    [
      { name: common.at, cell: one => shownTime(page, one.at) },
      { name: common.email, cell: one => one.email },
      { name: customer.consent, cell: one => customer.consentKinds[one.kind] },
      { name: customer.version, cell: one => one.version },
      { name: customer.address, cell: one => one.address },
    ],
    await readConsents(page.site.records, accountId),
  )
}

/** The page of a customer; undefined when there is no such account. */
export async function customerView(
  page: DeskPage,
  accountId: string,
  sent?: SentForm,
): Promise<Html | undefined> {
  const { site, texts } = page
  const { customer } = texts
  const account = await site.reports.account(accountId)
  if (account === undefined) return undefined
  const { build } = site.records
  const [company, charges, payments, actions, [row]] = await Promise.all([
    currentCompany(site.records, accountId),
    site.reports.latestCharges(accountId, shownMax),
    site.payments.payments({ accountId, limit: shownMax }),
    readActions(site.records, { accountId, limit: shownMax }),
    site.records.all(build.selectFrom('accounts').select('blocked_at').where('id', '=', accountId)),
  ])
  const blockedAt = row?.blocked_at ?? null
  return titledPage(
    page,
    { title: account.email },
    html`${notice(page)} ${sent === undefined ? '' : formProblems(page, sent.state, `${sent.name}-`)}
    ${summary(page, account, blockedAt)}
    ${
      company === undefined
        ? ''
        : section(customer.company, html`<p>${company.details.name}, ИНН ${company.details.inn}</p>`)
    }
    ${customerActions(page, { accountId, isBlocked: blockedAt !== null }, sent)}
    ${section(customer.notes, await noteTable(page, accountId))}
    ${latest(page, customer.movements, await movementTable(page, accountId), `/movements?account=${accountId}`)}
    ${latest(page, customer.requests, requestTable(page, charges), `/requests?account=${accountId}`)}
    ${latest(page, customer.payments, paymentTable(page, payments), `/payments?account=${accountId}`)}
    ${section(customer.documents, await documentTable(page, accountId))} ${await people(page, accountId)}
    ${section(customer.consents, await consentTable(page, accountId))}
    ${latest(page, customer.log, actionTable(page, actions), `/log?account=${accountId}`)}`,
  )
}

/** A customer: money, requests, payments, people, keys, and what was done. */
export async function showCustomer(page: DeskPage): Promise<Answer> {
  const view = await customerView(page, pathPart(page))
  return view === undefined ? showFailure(page, 'notFound') : view
}
