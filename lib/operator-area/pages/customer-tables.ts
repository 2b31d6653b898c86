import { html } from 'hono/html'
import type { KeyRecord } from '../../accounts/accounts.ts'
import { readConsents, readNotes } from '../../administration/account-acts.ts'
import { readActions } from '../../administration/operator-log.ts'
import { listClosing } from '../../documents/closing-documents.ts'
import { documentName } from '../../documents/document.ts'
import { kopecks, exactRoubles, named, smallMoney, time } from '../../web/format.ts'
import type { Html } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'
import { shownTime, tableCard } from '../view/desk-list.ts'
import { closingState } from './documents.ts'
import { actionColumns, movementColumns } from './lists.ts'
import { paymentColumns } from './payments.ts'

/** The number of latest rows that are shown. */
const shownMax = 20
const notesMax = 100

async function requestTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, requests } = page.texts
  const { language, site } = page
  return tableCard(
    page,
    { title: customer.requests, all: `/requests?account=${accountId}` },
    [
      { name: common.at, cell: one => shownTime(page, Date.parse(one.at)) },
      { name: customer.request, cell: one => html`<code>${one.requestId}</code>` },
      { name: customer.model, cell: one => html`<bdi>${one.model}</bdi>` },
      { name: customer.provider, cell: one => one.provider },
      {
        name: customer.outcome,
        cell: one => [named(requests.outcomes, one.outcome), ...one.flags].join(', '),
      },
      { name: common.amount, cell: one => exactRoubles(one.amount, language), isNumber: true },
      {
        name: customer.returned,
        cell: one => (one.returned === undefined ? '' : exactRoubles(one.returned, language)),
        isNumber: true,
      },
    ],
    await site.reports.latestCharges(accountId, shownMax),
  )
}

/** The limits of a key: `100,00 ₽ each day; gpt-5; 10.0.0.0/8; until 31.01.2027, 00:00 MSK`. */
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

async function memberTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  return tableCard(
    page,
    { title: customer.people },
    [
      { name: common.email, cell: one => one.email },
      { name: customer.role, cell: one => customer.roles[one.role] },
    ],
    await page.site.members.list(accountId),
  )
}

async function keyTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, editKey } = page.texts
  return tableCard(
    page,
    { title: customer.keys },
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
            ? html`<a href="/customers/${accountId}/keys/${one.id}">${editKey.open}</a>`
            : '',
      },
    ],
    await page.site.reports.keys(accountId),
  )
}

/** Operators' notes about a customer. */
async function noteTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, log } = page.texts
  return tableCard(
    page,
    { title: customer.notes },
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
  return tableCard(
    page,
    { title: customer.documents },
    [
      { name: documents.document, cell: one => documentName(one.document) },
      { name: common.at, cell: one => html`<span class="day">${one.document.date}</span>` },
      {
        name: common.amount,
        cell: one => kopecks(one.document.amount, page.language),
        isNumber: true,
      },
      { name: common.state, cell: one => closingState(page, one) },
    ],
    all.toReversed(),
  )
}

/** The consents of a customer's users. */
async function consentTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  return tableCard(
    page,
    { title: customer.consents },
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

/** All tables of a customer, in the order of the page. */
export async function customerTables(page: DeskPage, accountId: string): Promise<Html> {
  const { site, texts } = page
  const { customer } = texts
  const [movements, payments, actions] = await Promise.all([
    site.movements.page(accountId, { limit: shownMax }),
    site.payments.payments({ accountId, limit: shownMax }),
    readActions(site.records, { accountId, limit: shownMax }),
  ])
  const latest = (title: string, path: string) => ({ title, all: `${path}?account=${accountId}` })
  return html`${noteTable(page, accountId)}
  ${tableCard(page, latest(customer.movements, '/movements'), movementColumns(page), movements)}
  ${requestTable(page, accountId)}
  ${tableCard(page, latest(customer.payments, '/payments'), paymentColumns(page), payments)}
  ${documentTable(page, accountId)} ${memberTable(page, accountId)} ${keyTable(page, accountId)}
  ${consentTable(page, accountId)}
  ${tableCard(page, latest(customer.log, '/log'), actionColumns(page), actions)}`
}
