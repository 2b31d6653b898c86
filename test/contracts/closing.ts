import type { Test } from 'tap'
import { listClosing, markClosing, correctClosing } from '../../lib/documents/closing-documents.ts'
import { setCompany } from '../../lib/documents/company-versions.ts'
import { assignTransfer, undoTransfer } from '../../lib/documents/transfers.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { closingBalance, reconcile } from '../../lib/documents/reconcile-account.ts'
import { writeUpd } from '../../lib/documents/upd-xml.ts'
import { updProblems } from '../fixtures/check-upd.ts'
import { company, seller, soleProprietor } from '../fixtures/companies.ts'
import { chargeRoubles, companyAccount, noon, statementOf } from './documents.ts'
import { accountWith } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of closing documents, on every store. */
export async function closingContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a reconciliation begins with the advances, and a gift is a discount', async t => {
    let now = noon('2026-05-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await accountWith(store, 0)
    const credit = (amountMicros: number, source: 'payment' | 'operator' | 'starting') => {
      now += 1
      return store.accounts.credit({ accountId: id, amountMicros, reason: source, source })
    }
    await credit(70_000_000, 'starting')
    await credit(200_000_000, 'payment')
    await chargeRoubles(store, id, 40)
    await setCompany(records, id, company, noon('2026-06-01'))
    now = noon('2026-06-05')
    await credit(300_000_000, 'payment')
    await credit(30_000_000, 'operator')
    await chargeRoubles(store, id, 105)
    await closeMonth(records, seller, { month: '2026-06', at: noon('2026-07-01') })
    const of = (from: string, to: string) => reconcile(records, seller, { accountId: id, from, to })

    const june = await of('2026-06-01', '2026-06-30')
    t.equal(june.opening, -20_000, 'the gift was spent first')
    t.same(
      june.rows.map(({ date, name, debit, credit }) => `${date} ${name} ${debit} ${credit}`),
      [
        '2026-06-05 Оплата 0 30000',
        '2026-06-05 Корректировка (operator) 0 3000',
        '2026-06-30 Акт № 1 от 30.06.2026 10500 0',
        '2026-06-30 Скидка (Акт № 1 от 30.06.2026) 0 3000',
      ],
    )
    t.equal(closingBalance(june), -45_500)
    t.equal((await store.ledger.balance(id)).balanceMicros, 455_000_000)
    t.match(await of('2026-07-01', '2026-07-31'), { opening: -45_500, rows: [] })
    t.equal((await of('2026-06-06', '2026-06-30')).opening, -53_000)
    await t.rejects(of('2026-07-01', '2026-06-30'), /is before the first/)
    await t.rejects(
      reconcile(records, seller, { accountId: 'x', from: '2026-06-01', to: '2026-06-30' }),
      /no company/,
    )
  })

  await t.test('a gift that is withdrawn counts as never paid, and is not a debt', async t => {
    let now = noon('2026-06-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-06-01')
    const move = async (by: 'credit' | 'debit', roubles: number, source: 'operator' | 'starting') => {
      now += 1
      const amountMicros = roubles * 1_000_000
      await store.accounts[by]({ accountId: id, amountMicros, reason: source, source })
    }
    await move('credit', 70, 'starting')
    await chargeRoubles(store, id, 20)
    await move('debit', 10, 'operator')
    await move('credit', 30, 'operator')
    await move('debit', 45, 'operator')
    await closeMonth(records, seller, { month: '2026-06', at: noon('2026-07-01') })

    const june = await reconcile(records, seller, { accountId: id, from: '2026-06-01', to: '2026-06-30' })

    t.same(
      june.rows.map(({ name, debit, credit }) => `${name} ${debit} ${credit}`),
      [
        'Корректировка (operator) 0 3000',
        'Корректировка (operator) 3000 0',
        'Акт № 1 от 30.06.2026 2000 0',
        'Скидка (Акт № 1 от 30.06.2026) 0 2000',
      ],
    )
    t.equal(closingBalance(june), 0)
    t.equal((await store.ledger.balance(id)).balanceMicros, 25_000_000, 'the remaining money is a gift')
  })

  await t.test(
    'a month has one document per company with charges, once, and late charges are in the next',
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
    'documents keep the tax and details of their period, and a correction says what it corrects',
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

      t.same(
        [june, july].map(one => one?.document.contract.date),
        ['2026-06-01', '2026-06-01'],
        'the contract is as old as the company in this store, whichever details change',
      )
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

  await t.test('a document names exactly the payment orders that paid for it', async t => {
    let now = noon('2026-10-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-10-01')
    const pay = async (number: string, date: string, amount: number) => {
      now = noon(date)
      const payment = { number, date, amount, inn: company.inn, purpose: 'Аванс' }
      const bytes = statementOf([payment], date)
      const { queued } = await importStatement(records, seller, { bytes, at: now, isDryRun: false })
      await assignTransfer(records, { id: queued[0]?.id ?? '', to: { accountId: id }, note: '', at: now })
    }
    await pay('1', '2026-10-05', 30_000)
    await pay('2', '2026-10-06', 50_000)
    await chargeRoubles(store, id, 100)
    now = noon('2026-11-05')
    await chargeRoubles(store, id, 300)
    await pay('3', '2026-11-07', 70_000)
    await closeMonth(records, seller, { month: '2026-11', at: noon('2026-12-01') })

    const [october, november] = await listClosing(records)
    t.strictSame(october?.document.payments, [{ number: '1', date: '2026-10-05', amount: 30_000 }])
    t.strictSame(november?.document.payments, [
      { number: '1', date: '2026-10-05', amount: 30_000 },
      { number: '2', date: '2026-10-06', amount: 50_000 },
    ])
    t.match(
      (await reconcile(records, seller, { accountId: id, from: '2026-10-01', to: '2026-10-31' })).rows,
      [
        { date: '2026-10-05', name: 'Оплата (п/п № 1 от 05.10.2026)', credit: 30_000 },
        { date: '2026-10-06', name: 'Оплата (п/п № 2 от 06.10.2026)', credit: 50_000 },
        { date: '2026-10-31', name: 'Акт № 1 от 31.10.2026', debit: 10_000 },
      ],
    )
  })

  await t.test("a payment is reconciled by the bank's day, not the day of its import", async t => {
    let now = noon('2026-12-03')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-11-01')
    const payment = { number: '9', date: '2026-11-28', amount: 30_000, inn: company.inn, purpose: 'Аванс' }
    const bytes = statementOf([payment], '2026-11-28')
    const { queued } = await importStatement(records, seller, { bytes, at: now, isDryRun: false })
    const transfer = queued[0]?.id ?? ''
    await assignTransfer(records, { id: transfer, to: { accountId: id }, note: '', at: now })
    const of = (from: string, to: string) => reconcile(records, seller, { accountId: id, from, to })

    t.match((await of('2026-11-01', '2026-11-30')).rows, [{ date: '2026-11-28', credit: 30_000 }])
    t.equal((await of('2026-12-01', '2026-12-31')).opening, -30_000)
    now = noon('2026-12-05')
    await undoTransfer(records, { id: transfer, note: 'чужое', at: now })
    t.match((await of('2026-12-01', '2026-12-31')).rows, [
      { date: '2026-12-05', name: 'Отмена зачисления (п/п № 9 от 28.11.2026)', debit: 30_000 },
    ])
  })

  await t.test('a new seller documents nothing twice, and reconciles from its first day on', async t => {
    let now = noon('2026-10-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-10-01', 1000)
    await chargeRoubles(store, id, 100)
    await closeMonth(records, seller, { month: '2026-10', at: noon('2026-11-01') })
    now = noon('2026-11-05')
    await chargeRoubles(store, id, 30)
    const successor = { ...seller, name: 'ООО «Шлюз-2»', inn: soleProprietor.inn }
    await closeMonth(records, successor, { month: '2026-11', at: noon('2026-12-01') })

    const all = await listClosing(records)
    t.strictSame(
      all.map(one => [one.month, one.document.number, one.document.seller.inn, one.document.amount]),
      [
        ['2026-10', '1', seller.inn, 10_000],
        ['2026-11', '1', successor.inn, 3000],
      ],
    )
    const period = { accountId: id, from: '2026-10-01', to: '2026-11-30' }
    const statement = await reconcile(records, successor, period)
    t.match(statement, { opening: -90_000, rows: [{ debit: 3000 }] })
    t.equal(statement.rows.length, 1)
    await t.rejects(
      correctClosing(records, successor, { id: all[0]?.id ?? '', reason: 'Адрес', at: now }),
      /another seller/,
    )
  })

  await t.test('concurrent corrections each get a number, and a closed month does not change', async t => {
    const now = noon('2026-10-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-10-01', 1000)
    await chargeRoubles(store, id, 100)
    await closeMonth(records, seller, { month: '2026-10', at: noon('2026-11-01') })
    const [issued] = await listClosing(records)
    const correct = (reason: string) =>
      correctClosing(records, seller, { id: issued?.id ?? '', reason, at: noon('2026-11-02') })

    const made = await Promise.all([correct('Адрес'), correct('КПП'), correct('Название')])

    t.strictSame(new Set(made.map(one => one.document.correction?.number)), new Set([1, 2, 3]))
    await t.rejects(correct('\u202e'), /the reason/)
    await markClosing(records, { id: issued?.id ?? '', state: 'signed', at: 1, operator: 'olga' })
    const { build } = records
    for (const write of [
      build.updateTable('closing_documents').set({ amount_kopecks: 1 }),
      build.updateTable('closing_documents').set({ document: '{}' }),
      build.deleteFrom('closing_documents'),
      build.deleteFrom('closed_months'),
    ])
      await t.rejects(records.write([{ write }]), /what was issued is not changed/)
    t.match((await listClosing(records))[0], { ...issued, state: 'signed', isReplaced: true })
    const emails = await records.all(build.selectFrom('document_emails').selectAll())
    t.same(new Set(emails.map(one => one.kind)), new Set(['closing-issued']))
    t.equal(emails.length, 4)
  })
}
