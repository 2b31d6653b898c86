import { html } from 'hono/html'
import { readConsents, readNotes } from '../../administration/account-notes.ts'
import { listClosing } from '../../documents/closing-documents.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import { money, time } from '../../web/format.ts'
import type { Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'

const notesMax = 100

/** What operators noted about a customer. */
export async function noteTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, log } = page.texts
  return dataTable(
    { label: customer.notes, empty: common.none },
    [
      { name: common.at, cell: one => time(one.at, page.language) },
      { name: log.who, cell: one => one.operator },
      { name: customer.note, cell: one => html`<bdi>${one.note}</bdi>` },
    ],
    await readNotes(page.site.records, accountId, notesMax),
  )
}

/** The closing documents of a customer, the newest first. */
export async function documentTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common, documents } = page.texts
  const all = await listClosing(page.site.records, { accountId })
  return dataTable(
    { label: customer.documents, empty: common.none },
    [
      { name: documents.number, cell: one => one.document.number },
      { name: common.at, cell: one => one.document.date },
      {
        name: common.amount,
        cell: one => money(one.document.amount * microsPerKopeck, page.language),
        isNumber: true,
      },
      { name: common.state, cell: one => documents.states[one.state] },
    ],
    all.toReversed(),
  )
}

/** What the users of a customer agreed to. */
export async function consentTable(page: DeskPage, accountId: string): Promise<Html> {
  const { customer, common } = page.texts
  return dataTable(
    { label: customer.consents, empty: common.none },
    [
      { name: common.at, cell: one => time(one.at, page.language) },
      { name: common.email, cell: one => one.email },
      { name: customer.consent, cell: one => customer.consentKinds[one.kind] },
      { name: customer.version, cell: one => one.version },
      { name: customer.address, cell: one => one.address },
    ],
    await readConsents(page.site.records, accountId),
  )
}
