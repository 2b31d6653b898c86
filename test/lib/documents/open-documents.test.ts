import t from 'tap'
import type { Test } from 'tap'
import { forgetAccountSteps } from '../../../lib/administration/forget-user.ts'
import { listClosing } from '../../../lib/documents/closing-documents.ts'
import { createInvoice, cancelInvoice } from '../../../lib/documents/invoices.ts'
import { monthToClose, openDocuments, dueReminder } from '../../../lib/documents/open-documents.ts'
import type { Seller } from '../../../lib/companies/seller.ts'
import type { Records } from '../../../lib/stores/records/records.ts'
import { chargeRoubles, companyAccount, noon } from '../../contracts/documents.ts'
import type { StoreUnderTest } from '../../contracts/store-under-test.ts'
import { company, seller } from '../../fixtures/companies.ts'
import { invoiceOf } from '../../fixtures/documents.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { until } from '../../fixtures/until.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

const quiet = { info: () => undefined, error: () => undefined }

interface World {
  readonly store: StoreUnderTest
  readonly nodes: readonly Records[]
  readonly at: (now: number) => void
  readonly clock: { now: () => number }
}

async function documentsOf(records: Records): Promise<string[]> {
  return (await listClosing(records)).map(one => `${one.month} ${one.document.number} ${one.document.amount}`)
}

/** A company is charged in November; December comes while two servers run. */
async function checkAutomaticClose(t: Test, { store, nodes, at, clock }: World): Promise<void> {
  at(noon('2026-11-05'))
  const accountId = await companyAccount(store, company, '2026-11-01', 1000)
  await chargeRoubles(store, accountId, 12)
  const logged: unknown[] = []
  const log = {
    info: (fields: unknown) => logged.push(fields),
    error: (fields: unknown) => t.fail(String(fields)),
  }
  at(Date.parse('2026-12-01T00:09:59+03:00'))
  const open = nodes.map(records =>
    openDocuments({ records, seller: () => seller, clock, log: { ...quiet, ...log }, everyMs: 5 }),
  )
  t.teardown(() => Promise.all(open.map(one => one.close())))
  await new Promise(resolve => setTimeout(resolve, 100))
  const [records] = nodes as [Records]
  t.strictSame(await documentsOf(records), [], 'the last charges of the month may not be written yet')

  at(Date.parse('2026-12-01T00:10:00+03:00'))
  await until(async () => (await documentsOf(records)).length > 0)
  // A node that finds the month already closed logs nothing, so this counts documents, not lines of the log.
  const made = (): number =>
    logged.reduce<number>((sum, one) => sum + Number((one as { documents?: number }).documents ?? 0), 0)
  await until(() => made() > 0)
  await new Promise(resolve => setTimeout(resolve, 100))

  t.strictSame(await documentsOf(records), ['2026-11 1 1200'])
  t.equal(made(), 1, 'one node created the document')
  const emails = await records.all(records.build.selectFrom('document_emails').selectAll())
  t.match(emails, [{ kind: 'closing-issued', account_id: accountId, state: 'waiting' }])
  t.equal(emails.length, 1)
}

await t.test('the server closes a month ten minutes after its end, on SQLite', async t => {
  let now = 0
  const clock = { now: () => now }
  const store = await openNew(t, { clock })

  await checkAutomaticClose(t, { store, nodes: [await store.records()], at: value => (now = value), clock })
})

await t.test('several nodes close a month once, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  let now = 0
  const clock = { now: () => now }
  const store = await openNode(t, url, { clock })
  const other = await openNode(t, url, { clock })
  const nodes = [await store.records(), await other.records(), await other.records()]

  await checkAutomaticClose(t, { store, nodes, at: value => (now = value), clock })
})

await t.test('a failed close is logged once and repeated after ten minutes', async t => {
  let now = noon('2026-12-02')
  const clock = { now: () => now }
  const store = await openNew(t, { clock })
  const records = await store.records()
  const accountId = await companyAccount(store, company, '2026-11-01', 1000)
  now = noon('2026-11-05')
  await chargeRoubles(store, accountId, 12)
  now = noon('2026-12-02')
  let current: Seller = { ...seller, tax: [{ from: '2027-01-01', rate: 5 }] }
  const errors: unknown[] = []
  const log = { ...quiet, error: (fields: unknown) => errors.push(fields) }
  const open = openDocuments({ records, seller: () => current, clock, log, everyMs: 5 })
  t.teardown(() => open.close())

  await until(() => errors.length > 0)
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(errors.length, 1)
  t.match(errors[0], { error: { message: /seller\.tax says nothing of 2026-11-30/ } })
  current = seller
  now += 10 * 60_000
  await until(async () => (await documentsOf(records)).length === 1)
  t.strictSame(await documentsOf(records), ['2026-11 1 1200'])
})

await t.test('the month to close is the last one that has ended in Moscow', async t => {
  for (const [time, month] of [
    ['2026-12-01T00:00:00+03:00', '2026-10'],
    ['2026-12-01T00:09:59+03:00', '2026-10'],
    ['2026-12-01T00:10:00+03:00', '2026-11'],
    ['2026-12-31T23:59:59+03:00', '2026-11'],
    ['2027-01-01T00:10:00+03:00', '2026-12'],
    ['2026-11-30T21:10:00Z', '2026-11'],
  ] as const)
    t.equal(monthToClose(Date.parse(time)), month, time)
})

await t.test('reminders run from the working day before the last day to a week after it', async t => {
  // Issued on Friday the 20th, payable until Friday the 27th.
  const document = invoiceOf()
  const due = (today: string, state: Parameters<typeof dueReminder>[0]['state'] = 'open', doc = document) =>
    dueReminder({ state, document: doc }, today)

  t.equal(due('2026-11-25'), undefined)
  t.equal(due('2026-11-26'), 'invoice-reminder')
  t.equal(due('2026-11-27', 'part-paid'), 'invoice-reminder')
  t.equal(due('2026-11-28', 'overdue'), 'invoice-overdue')
  t.equal(due('2026-12-04', 'overdue'), 'invoice-overdue')
  t.equal(due('2026-12-05', 'overdue'), undefined, 'more than a week late')
  for (const state of ['paid', 'overpaid', 'canceled'] as const) t.equal(due('2026-11-28', state), undefined)
  const monday = { ...document, date: '2026-11-20', payUntil: '2026-11-23' }
  t.equal(due('2026-11-20', 'open', monday), undefined, 'not on the day of issue')
  t.equal(due('2026-11-22', 'open', monday), 'invoice-reminder', 'on the Sunday before a Monday')
})

await t.test('reminders of unpaid invoices are written once a day, after nine in the morning', async t => {
  let now = noon('2026-11-20')
  const clock = { now: () => now }
  const store = await openNew(t, { clock })
  const records = await store.records()
  const accountId = await companyAccount(store, company, '2026-11-01')
  const make = () => createInvoice(records, seller, { accountId, amount: 100, at: now, isEmailed: false })
  const first = await make()
  const second = await make()
  await cancelInvoice(records, second.id, now, { operator: 'olga' })
  const gone = await companyAccount(store, company, '2026-11-01')
  await createInvoice(records, seller, { accountId: gone, amount: 100, at: now, isEmailed: false })
  await records.write(forgetAccountSteps(records, gone))
  const emails = async () =>
    (await records.all(records.build.selectFrom('document_emails').selectAll().orderBy('created_at'))).map(
      one => [one.document_id, one.kind],
    )
  now = Date.parse('2026-11-26T08:59:59+03:00')
  const open = [1, 2].map(() =>
    openDocuments({ records, seller: () => seller, clock, log: quiet, everyMs: 5 }),
  )
  t.teardown(() => Promise.all(open.map(one => one.close())))
  await new Promise(resolve => setTimeout(resolve, 100))
  t.strictSame(await emails(), [])

  now = Date.parse('2026-11-26T09:00:00+03:00')
  await until(async () => (await emails()).length > 0)
  await new Promise(resolve => setTimeout(resolve, 50))
  t.strictSame(await emails(), [[first.id, 'invoice-reminder']])
  now = Date.parse('2026-11-28T12:00:00+03:00')
  await until(async () => (await emails()).length > 1)
  t.strictSame(await emails(), [
    [first.id, 'invoice-reminder'],
    [first.id, 'invoice-overdue'],
  ])
})
