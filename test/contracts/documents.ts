import type { Test } from 'tap'
import { accountsByInn, currentCompany, setCompany } from '../../lib/documents/company-versions.ts'
import { createInvoice, cancelInvoice, listInvoices } from '../../lib/documents/invoices.ts'
import { assignTransfer, returnTransfer, undoTransfer, listTransfers } from '../../lib/documents/transfers.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { microsPerKopeck } from '../../lib/money/kopecks.ts'
import { newId } from '../../lib/platform/new-id.ts'
import type { Records } from '../../lib/stores/records/records.ts'
import { encodeStatement, statementLines } from '../fixtures/bank-statement.ts'
import type { MadePayment } from '../fixtures/bank-statement.ts'
import { company, seller, soleProprietor } from '../fixtures/companies.ts'
import { accountWith, chargeOf, holdOf } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** Noon of a day in Moscow. */
export const noon = (day: string): number => Date.parse(`${day}T12:00:00+03:00`)

/** An account with a company since a day, and money that is not part of any document. */
export async function companyAccount(
  store: StoreUnderTest,
  details = company,
  since = '2026-01-01',
  amount = 0,
): Promise<string> {
  const id = await accountWith(store, amount)
  await setCompany(await store.records(), id, details, noon(since))
  return id
}

export function statementOf(payments: readonly MadePayment[], day?: string): Uint8Array {
  const period = day === undefined ? {} : { from: day, to: day }
  return encodeStatement(
    statementLines({ account: seller.bank.account, payments, ...period }).join('\r\n'),
    'windows-1251',
  )
}

function take(records: Records, payments: readonly MadePayment[], isDryRun = false) {
  return importStatement(records, seller, { bytes: statementOf(payments), at: noon('2026-12-01'), isDryRun })
}

/** A charge of this many roubles, at the time of the store's clock. */
export async function chargeRoubles(
  store: StoreUnderTest,
  accountId: string,
  roubles: number,
): Promise<void> {
  const hold = await holdOf(store, accountId, roubles)
  await store.ledger.charge(hold, chargeOf({ input: roubles }))
}

const balanceOf = async (store: StoreUnderTest, id: string): Promise<number> =>
  (await store.ledger.balance(id)).balanceMicros / microsPerKopeck

/** The contract of companies and their documents, on every store. */
export async function documentsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test(
    'company details have versions, are validated, and the same details again change nothing',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const id = await accountWith(store, 0)
      t.equal(await currentCompany(records, id), undefined)
      t.equal((await setCompany(records, id, company, 1)).version, 1)
      t.equal((await setCompany(records, id, { ...company, name: ` ${company.name} ` }, 2)).version, 1)
      t.equal((await setCompany(records, id, { ...company, address: 'г. Тверь' }, 3)).version, 2)
      await t.rejects(setCompany(records, id, { ...company, inn: '7736207544' }, 4), /inn has 4 as digit 10/)
      await t.rejects(setCompany(records, 'nobody', company, 4), /foreign key/i)

      t.match(await currentCompany(records, id), { version: 2, details: { address: 'г. Тверь' } })
      t.same(await accountsByInn(records, company.inn), [id])
      const made = await Promise.all(
        [5, 6, 7].map(at => setCompany(records, id, { ...company, address: `г. Псков, д. ${at}` }, at)),
      )
      t.same(new Set(made.map(one => one.version)), new Set([3, 4, 5]))
    },
  )

  await t.test('concurrent invoices are numbered from one without gaps, anew each year', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const make = (day: string) =>
      createInvoice(records, seller, { accountId, amount: 1_234_500, at: noon(day) })

    const made = await Promise.all(Array.from({ length: 12 }, () => make('2026-11-20')))
    const next = await make('2027-01-10')

    t.same(
      made.map(one => Number(one.document.number)).toSorted((a, b) => a - b),
      Array.from({ length: 12 }, (_, index) => index + 1),
    )
    t.equal(next.document.number, '1')
    t.match(made[0]?.document, { payUntil: '2026-11-27', buyer: { inn: company.inn }, amount: 1_234_500 })
    t.match(
      made[0]?.document.purpose,
      /^Оплата по счету № \d+ от 20\.11\.2026, лицевой счет .*НДС не облагается$/,
    )
    await cancelInvoice(records, next.id, 1, { operator: 'olga' })
    await t.rejects(
      cancelInvoice(records, next.id, 1, { operator: 'olga' }),
      /no invoice .* could be canceled/,
    )
    t.match((await listInvoices(records, '2026-12-01', { accountId }))[0], {
      id: next.id,
      state: 'canceled',
    })
    await t.rejects(
      createInvoice(records, seller, { accountId: 'x', amount: 1, at: 1 }),
      /has no company details/,
    )
    await t.rejects(createInvoice(records, seller, { accountId, amount: 0, at: 1 }), /0\.01 to/)
    await t.rejects(make('2025-11-20'), /seller\.tax says nothing of 2025-11-20/)
  })

  await t.test('sending a form twice makes one invoice, and each is emailed once', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const other = await companyAccount(store, soleProprietor)
    const id = newId()
    const make = (account = accountId) =>
      createInvoice(records, seller, { accountId: account, amount: 100, at: noon('2026-11-20'), id })

    const made = await Promise.all([make(), make(), make()])
    const quiet = await createInvoice(records, seller, {
      accountId,
      amount: 100,
      at: noon('2026-11-20'),
      isEmailed: false,
    })

    t.same(new Set(made.map(one => `${one.id} ${one.token} ${one.document.number}`)).size, 1)
    t.equal(quiet.document.number, '2', 'no number is lost')
    t.match(made[0]?.token, /^[\w-]{43}$/)
    t.not(made[0]?.token, quiet.token)
    t.match(await listInvoices(records, '2026-11-20', { token: quiet.token }), [{ id: quiet.id }])
    await t.rejects(make(other), /another's/)
    const emails = await records.all(records.build.selectFrom('document_emails').selectAll())
    t.match(emails, [{ document_id: id, kind: 'invoice-made', account_id: accountId, state: 'waiting' }])
    t.equal(emails.length, 1)
  })

  await t.test('an issued document cannot be changed or deleted, not even by SQL', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    await createInvoice(records, seller, { accountId, amount: 100, at: noon('2026-11-20') })
    const { build } = records

    for (const write of [
      build.updateTable('invoices').set({ amount_kopecks: 1 }),
      build.updateTable('invoices').set({ document: '{}' }),
      build.deleteFrom('invoices'),
      build.updateTable('companies').set({ details: '{}' }),
      build.deleteFrom('companies'),
    ])
      await t.rejects(records.write([{ write }]), /what was issued is not changed/)
  })

  await t.test(
    'a statement credits its payments once, however often it is imported and however it overlaps',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const accountId = await companyAccount(store)
      const invoice = await createInvoice(records, seller, {
        accountId,
        amount: 1_000_000,
        at: noon('2026-11-20'),
      })
      const named = `по счету № ${invoice.document.number} от 20.11.2026`
      const payments: MadePayment[] = [
        { number: '1', date: '2026-11-21', amount: 400_000, inn: company.inn, purpose: named },
        { number: '2', date: '2026-11-22', amount: 700_000, inn: company.inn, purpose: named },
        { number: '3', date: '2026-11-23', amount: 5, inn: company.inn, purpose: 'Аванс' },
        { number: '4', date: '2026-11-24', amount: 6, inn: '500100732259', purpose: named },
      ]

      const dry = await take(records, payments.slice(0, 2), true)
      t.match(dry, { credited: { length: 2 }, repeated: 0 })
      t.equal(await balanceOf(store, accountId), 0)
      t.match(await take(records, payments.slice(0, 1)), {
        documents: 1,
        credited: [{ amount: '4000.00', reason: 'rule-2' }],
        repeated: 0,
      })
      t.match((await listInvoices(records, '2026-11-21'))[0], { state: 'part-paid', paid: 400_000 })
      const both = await Promise.all([take(records, payments), take(records, payments)])
      t.equal(both[0].repeated + both[1].repeated, 5)
      t.match(await take(records, payments.toReversed()), { credited: [], queued: [], repeated: 4 })

      t.equal(await balanceOf(store, accountId), 1_100_000)
      t.match((await listInvoices(records, '2026-11-21'))[0], { state: 'overpaid', paid: 1_100_000 })
      t.match(await listTransfers(records, 'queued'), [
        { number: '4', reason: 'payer-other', suggestions: JSON.stringify([accountId]) },
        { number: '3', reason: 'payer-known', suggestions: JSON.stringify([accountId]) },
      ])
      t.same(await store.verify(), [])
    },
  )

  await t.test('a payment that waits for a person is assigned or returned once', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    await take(records, [
      { number: '1', amount: 100 },
      { number: '2', amount: 200 },
    ])
    const [first, second] = await listTransfers(records, 'queued')
    const assign = (id = '') => assignTransfer(records, { id, to: { accountId }, note: 'письмо', at: 1 })

    const endings = await Promise.allSettled([assign(first?.id), assign(first?.id), assign(first?.id)])
    await returnTransfer(records, { id: second?.id.slice(0, 12) ?? '', note: 'чужое', at: 1 })

    t.equal(endings.filter(one => one.status === 'fulfilled').length, 1)
    t.equal(await balanceOf(store, accountId), first?.amount_kopecks)
    await t.rejects(assign(second?.id), /is returned/)
    await t.rejects(assign('aaaaaaaaaaaaaa'), /there is no transfer/)
    t.same(await listTransfers(records, 'queued'), [])
    t.same(await store.verify(), [])
  })

  await t.test(
    'a credit is reversed once, while the account has the money, and may be assigned again',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const wrong = await companyAccount(store)
      const accountId = await companyAccount(store, soleProprietor)
      await take(records, [{ number: '1', amount: 10_000 }])
      const [{ id } = { id: '' }] = await listTransfers(records)
      const undo = () => undoTransfer(records, { id, note: 'ошибка', at: 2 })
      const assign = (to: string) => assignTransfer(records, { id, to: { accountId: to }, note: '', at: 1 })
      await assign(wrong)

      const endings = await Promise.allSettled([undo(), undo(), undo()])
      t.equal(endings.filter(one => one.status === 'fulfilled').length, 1)
      t.equal(await balanceOf(store, wrong), 0)
      await assign(accountId)

      t.equal(await balanceOf(store, accountId), 10_000)
      await chargeRoubles(store, accountId, 1)
      await t.rejects(undo(), { name: 'AccountError', code: 'balance_insufficient' })
      t.match(await listTransfers(records), [{ state: 'credited', account_id: accountId, revision: 3 }])
      t.same(await store.verify(), [])
    },
  )

  await t.test("a third party's payment is assigned to the invoice that it pays", async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const invoice = await createInvoice(records, seller, { accountId, amount: 100, at: noon('2026-11-20') })
    await take(records, [{ number: '1', amount: 100, inn: soleProprietor.inn, purpose: 'за ООО «Ромашка»' }])
    const [{ id } = { id: '' }] = await listTransfers(records, 'queued')
    const state = async () => (await listInvoices(records, '2026-11-21'))[0]?.state

    await t.rejects(
      assignTransfer(records, { id, to: { invoiceId: newId() }, note: '', at: 1 }),
      /there is no invoice/,
    )
    await assignTransfer(records, { id, to: { invoiceId: invoice.id }, note: 'письмо', at: 1 })

    t.equal(await state(), 'paid')
    t.equal(await balanceOf(store, accountId), 100)
    await undoTransfer(records, { id, note: 'ошибка', at: 2 })
    t.equal(await state(), 'open')
    t.equal(await balanceOf(store, accountId), 0)
    t.same(await store.verify(), [])
  })

  await t.test('a statement whose sums differ changes nothing', async t => {
    const store = await open(t)
    const records = await store.records()
    const lines = statementLines({ account: seller.bank.account, payments: [{ number: '1', amount: 100 }] })
    const bytes = Buffer.from(lines.map(line => line.replace('Поступило=1.00', 'Поступило=1.01')).join('\n'))

    await t.rejects(importStatement(records, seller, { bytes, at: 1, isDryRun: false }), {
      name: 'StatementError',
    })

    t.same(await listTransfers(records), [])
  })
}
