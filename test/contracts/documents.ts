import type { Test } from 'tap'
import { correctClosing, listClosing } from '../../lib/documents/closing-documents.ts'
import { CompanyBook, setCompany } from '../../lib/documents/company-book.ts'
import { cancelInvoice, createInvoice, listInvoices } from '../../lib/documents/invoices.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { closingBalance, reconcile } from '../../lib/documents/reconcile-account.ts'
import {
  assignTransfer,
  importStatement,
  listTransfers,
  returnTransfer,
  undoTransfer,
} from '../../lib/documents/transfers.ts'
import { writeUpd } from '../../lib/documents/upd-xml.ts'
import { microsPerKopeck } from '../../lib/money/kopecks.ts'
import type { Records } from '../../lib/stores/records/records.ts'
import { encodeStatement, statementLines } from '../fixtures/bank-statement.ts'
import type { MadePayment } from '../fixtures/bank-statement.ts'
import { updProblems } from '../fixtures/check-upd.ts'
import { company, seller, soleProprietor } from '../fixtures/companies.ts'
import { accountWith, chargeOf, holdOf } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** Noon of a day in Moscow. */
const noon = (day: string): number => Date.parse(`${day}T12:00:00+03:00`)

/** An account with a company since a day, and money that no document speaks of. */
async function companyAccount(
  store: StoreUnderTest,
  details = company,
  since = '2026-01-01',
  amount = 0,
): Promise<string> {
  const id = await accountWith(store, amount)
  await setCompany(await store.records(), id, details, noon(since))
  return id
}

function statementOf(payments: readonly MadePayment[]): Uint8Array {
  return encodeStatement(
    statementLines({ account: seller.bank.account, payments }).join('\r\n'),
    'windows-1251',
  )
}

function take(records: Records, payments: readonly MadePayment[], isDryRun = false) {
  return importStatement(records, seller, { bytes: statementOf(payments), at: noon('2026-12-01'), isDryRun })
}

/** A charge of so many roubles, at the moment that the store's clock says. */
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

/** What companies and their documents keep to on every store. */
export async function documentsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test(
    'details have versions, are refused when wrong, and the same again change nothing',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const id = await accountWith(store, 0)
      const book = new CompanyBook(records)

      t.equal(await book.current(id), undefined)
      t.equal((await setCompany(records, id, company, 1)).version, 1)
      t.equal((await setCompany(records, id, { ...company, name: ` ${company.name} ` }, 2)).version, 1)
      t.equal((await setCompany(records, id, { ...company, address: 'г. Тверь' }, 3)).version, 2)
      await t.rejects(setCompany(records, id, { ...company, inn: '7736207544' }, 4), /inn has 4 as digit 10/)
      await t.rejects(setCompany(records, 'nobody', company, 4), /foreign key/i)

      t.match(await book.current(id), { version: 2, details: { address: 'г. Тверь' } })
      t.same(await book.accountsByInn(company.inn), [id])
      const made = await Promise.all(
        [5, 6, 7].map(at => setCompany(records, id, { ...company, address: `г. Псков, д. ${at}` }, at)),
      )
      t.same(new Set(made.map(one => one.version)), new Set([3, 4, 5]))
    },
  )

  await t.test(
    'invoices that are made at once are numbered from one without a gap, anew each year',
    async t => {
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
      await cancelInvoice(records, next.id, 1)
      await t.rejects(cancelInvoice(records, next.id, 1), /no invoice .* could be cancelled/)
      t.match((await listInvoices(records, '2026-12-01', accountId))[0], { id: next.id, state: 'cancelled' })
      await t.rejects(
        createInvoice(records, seller, { accountId: 'x', amount: 1, at: 1 }),
        /has no company details/,
      )
      await t.rejects(createInvoice(records, seller, { accountId, amount: 0, at: 1 }), /0\.01 to/)
      await t.rejects(make('2025-11-20'), /seller\.tax says nothing of 2025-11-20/)
    },
  )

  await t.test(
    'a statement credits its payments once, however often and in whatever overlap it comes',
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

  await t.test('what waits for a person is assigned or returned once', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    await take(records, [
      { number: '1', amount: 100 },
      { number: '2', amount: 200 },
    ])
    const [first, second] = await listTransfers(records, 'queued')
    const assign = (id = '') => assignTransfer(records, { id, accountId, note: 'письмо', at: 1 })

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
    'what was credited is taken back once, while the account has it, and may be assigned anew',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const wrong = await companyAccount(store)
      const accountId = await companyAccount(store, soleProprietor)
      await take(records, [{ number: '1', amount: 10_000 }])
      const [{ id } = { id: '' }] = await listTransfers(records)
      const undo = () => undoTransfer(records, { id, note: 'ошибка', at: 2 })
      const assign = (to: string) => assignTransfer(records, { id, accountId: to, note: '', at: 1 })
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

  await t.test('a statement that does not add up changes nothing', async t => {
    const store = await open(t)
    const records = await store.records()
    const lines = statementLines({ account: seller.bank.account, payments: [{ number: '1', amount: 100 }] })
    const bytes = Buffer.from(lines.map(line => line.replace('Поступило=1.00', 'Поступило=1.01')).join('\n'))

    await t.rejects(importStatement(records, seller, { bytes, at: 1, isDryRun: false }), {
      name: 'StatementError',
    })

    t.same(await listTransfers(records), [])
  })

  await closingContract(t, open)
}

async function closingContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a reconciliation has documents against money, and no gift', async t => {
    const now = noon('2026-06-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-06-01')
    const credit = (amountMicros: number, source: 'payment' | 'operator' | 'starting') =>
      store.accounts.credit({ accountId: id, amountMicros, reason: source, source })
    await credit(500_000_000, 'payment')
    await credit(70_000_000, 'starting')
    await credit(30_000_000, 'operator')
    await chargeRoubles(store, id, 105)
    await closeMonth(records, seller, { month: '2026-06', at: noon('2026-07-01') })
    const of = (from: string, to: string) => reconcile(records, seller, { accountId: id, from, to })

    const june = await of('2026-06-01', '2026-06-30')
    t.same(
      new Set(june.rows.map(({ date, name, debit, credit }) => `${date} ${name} ${debit} ${credit}`)),
      new Set([
        '2026-06-05 Корректировка 0 3000',
        '2026-06-05 Оплата 0 50000',
        '2026-06-30 Акт № 1 от 30.06.2026 10500 0',
      ]),
    )
    t.equal(closingBalance(june), -42_500)
    t.match(await of('2026-07-01', '2026-07-31'), { opening: -42_500, rows: [] })
    t.equal((await of('2026-06-06', '2026-06-30')).opening, -53_000)
    await t.rejects(of('2026-07-01', '2026-06-30'), /is before the first/)
    await t.rejects(
      reconcile(records, seller, { accountId: 'x', from: '2026-06-01', to: '2026-06-30' }),
      /no company/,
    )
  })

  await t.test(
    'a month has one document for each company with charges, once, and late charges are in the next',
    async t => {
      let now = noon('2026-10-05')
      const store = await open(t, { clock: { now: () => now } })
      const records = await store.records()
      const first = await companyAccount(store, company, '2026-10-01', 1000)
      const second = await companyAccount(store, soleProprietor, '2026-11-03', 1000)
      await companyAccount(store, company, '2026-10-01', 1000)
      const close = (month: string) => closeMonth(records, seller, { month, at: noon('2026-12-02') })
      await chargeRoubles(store, first, 10)
      await chargeRoubles(store, second, 100)
      now = noon('2026-11-05')
      await chargeRoubles(store, first, 20)
      await chargeRoubles(store, second, 7)

      const results = await Promise.all([close('2026-11'), close('2026-11'), close('2026-11')])
      t.equal(results.flatMap(result => result.made).length, 3)
      now = noon('2026-11-30')
      await chargeRoubles(store, first, 3)
      t.match(await close('2026-11'), { months: [], made: [] })
      now = noon('2026-12-02')
      const { made } = await close('2026-12')

      const all = await listClosing(records)
      t.same(
        new Set(all.map(one => `${one.month} ${one.accountId} ${one.document.amount}`)),
        new Set([
          `2026-10 ${first} 1000`,
          `2026-11 ${first} 2000`,
          `2026-11 ${second} 700`,
          `2026-12 ${first} 300`,
        ]),
      )
      t.same(new Set(all.map(one => one.document.number)), new Set(['1', '2', '3', '4']))
      t.equal(made[0]?.document.date, '2026-12-31')
      t.match(all.find(one => one.accountId === second)?.document, {
        kind: 'act',
        buyer: { name: soleProprietor.name },
      })
      await t.rejects(close('2027-01'), /has not begun/)
      await t.rejects(close('2026-13'), /is no month/)
    },
  )

  await t.test(
    'tax follows its periods, old documents their old details, a correction says what it corrects',
    async t => {
      let now = noon('2026-06-05')
      const store = await open(t, { clock: { now: () => now } })
      const records = await store.records()
      const taxed = { ...seller, tax: [...seller.tax, { from: '2026-07-01', rate: 5 as const }] }
      const id = await companyAccount(store, company, '2026-06-01', 1000)
      await chargeRoubles(store, id, 105)
      now = noon('2026-07-05')
      await chargeRoubles(store, id, 105)
      await setCompany(records, id, { ...company, name: 'ООО «Лютик»' }, noon('2026-07-20'))
      await closeMonth(records, taxed, { month: '2026-07', at: noon('2026-08-01') })
      const [june, july] = await listClosing(records)

      t.match(june?.document, { kind: 'act', vat: 0, buyer: { name: company.name }, tax: { rate: 'none' } })
      t.match(july?.document, {
        kind: 'upd',
        amount: 10_500,
        vat: 500,
        buyer: { name: 'ООО «Лютик»' },
        tax: { rate: 5 },
      })

      await setCompany(
        records,
        id,
        { ...company, name: 'ООО «Лютик»', address: 'г. Тверь' },
        noon('2026-08-02'),
      )
      const corrected = await correctClosing(records, taxed, {
        id: july?.id ?? '',
        reason: 'Адрес',
        at: noon('2026-08-03'),
      })

      t.match(corrected.document, {
        number: july?.document.number,
        amount: 10_500,
        buyer: { address: 'г. Тверь' },
        correction: { number: 1, date: '2026-08-03', reason: 'Адрес' },
      })
      t.match(
        (await listClosing(records, { month: '2026-07' })).map(one => one.document.buyer.address),
        [company.address, 'г. Тверь'],
      )
      t.same(await updProblems((await listClosing(records)).map(one => writeUpd(one.document))), [])
      await t.rejects(
        correctClosing(records, taxed, { id: 'x', reason: 'Адрес', at: 1 }),
        /there is no document x/,
      )
      t.match(await closeMonth(records, taxed, { month: '2026-08', at: noon('2026-09-01') }), {
        months: ['2026-08'],
        made: [],
      })
    },
  )
}
