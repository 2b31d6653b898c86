import type { Test } from 'tap'
import { correctCharge } from '../../lib/administration/correct-charge.ts'
import { advancesTable, listAdvances } from '../../lib/documents/advances.ts'
import { listClosing, correctClosing } from '../../lib/documents/closing-documents.ts'
import { setCompany, facsimileOf } from '../../lib/documents/company-versions.ts'
import { cancelInvoice, createInvoice, listInvoices } from '../../lib/documents/invoices.ts'
import { assignTransfer, listTransfers, undoTransfer } from '../../lib/documents/transfers.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { closingBalance, reconcile } from '../../lib/documents/reconcile-account.ts'
import { deletionBlockers } from '../../lib/payments/delete-account.ts'
import { company, seller } from '../fixtures/companies.ts'
import { chargeRoubles, companyAccount, noon, statementOf } from './documents.ts'
import { chargeOf, holdOf } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** An account with an invoice of one rouble, which a transfer has paid. */
export async function paidInvoice(store: StoreUnderTest): Promise<string> {
  const records = await store.records()
  const accountId = await companyAccount(store, company, '2026-11-01')
  const { document } = await createInvoice(records, seller, {
    accountId,
    amount: 100,
    at: noon('2026-11-20'),
  })
  const purpose = `по счету № ${document.number}`
  const bytes = statementOf([{ date: '2026-11-23', amount: 100, inn: company.inn, purpose }], '2026-11-23')
  await importStatement(records, seller, { bytes, at: noon('2026-11-24'), isDryRun: false })
  return accountId
}

/** What the seller's accountant relies on, on every store. */
export async function accountingContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('advances are listed with their tax, without refunds', async t => {
    let now = noon('2026-06-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const taxed = {
      ...seller,
      tax: [
        ...seller.tax,
        { from: '2026-07-01', rate: 5 as const },
        { from: '2026-08-01', rate: 22 as const },
      ],
    }
    const id = await companyAccount(store, company, '2026-06-01')
    const pay = async (number: string, date: string, amount: number) => {
      const payment = { number, date, amount, inn: company.inn, purpose: 'Аванс' }
      const bytes = statementOf([payment], date)
      now = noon(date)
      const { queued } = await importStatement(records, taxed, { bytes, at: now, isDryRun: false })
      const transfer = queued[0]?.id ?? ''
      await assignTransfer(records, { id: transfer, to: { accountId: id }, note: '', at: now })
      return transfer
    }
    await pay('1', '2026-06-05', 5_000)
    await pay('2', '2026-07-06', 21_000)
    const wrong = await pay('3', '2026-07-07', 99_000)
    await undoTransfer(records, { id: wrong, note: 'чужое', at: noon('2026-07-08') })
    now = noon('2026-07-20')
    await chargeRoubles(store, id, 150)
    await setCompany(records, id, { ...company, name: 'ООО «Лютик»' }, noon('2026-08-02'))
    now = noon('2026-08-03')
    await store.accounts.credit({
      accountId: id,
      amountMicros: 12_200_000,
      reason: 'card',
      source: 'payment',
    })
    await store.accounts.credit({
      accountId: id,
      amountMicros: 7_000_000,
      reason: 'sorry',
      source: 'operator',
    })

    t.same(await listAdvances(records, taxed, '2026-06'), [], 'no tax is owed')
    t.match(await listAdvances(records, taxed, '2026-07'), [
      {
        date: '2026-07-06',
        name: 'Оплата (п/п № 2 от 06.07.2026)',
        buyer: { name: company.name },
        amount: 21_000,
        rate: 5,
        vat: 1_000,
        left: 11_000,
      },
    ])
    const august = await listAdvances(records, taxed, '2026-08')
    t.match(august, [{ buyer: { name: 'ООО «Лютик»' }, amount: 1_220, rate: 22, vat: 220, left: 1_220 }])
    t.equal(august.length, 1)
    t.match(
      advancesTable(august),
      /\r\n03\.08\.2026;ООО «Лютик»;7736207543;770401001;Оплата;12,20;22\/122;2,20;12,20;2,20\r\n$/,
    )
  })

  await t.test('a statement begins where the previous one ended, even if a gift is withdrawn', async t => {
    let now = noon('2026-05-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const accountId = await companyAccount(store, company, '2026-05-01')
    const gift = { accountId, amountMicros: 50_000_000, reason: 'welcome', source: 'starting' as const }
    await store.accounts.credit(gift)
    const hold = await holdOf(store, accountId, 50)
    await store.ledger.charge(hold, chargeOf({ input: 50 }))
    const of = async (month: string, last: string) => {
      await closeMonth(records, seller, { month, at: noon('2026-08-01') })
      return reconcile(records, seller, { accountId, from: `${month}-01`, to: `${month}-${last}` })
    }
    const may = await of('2026-05', '31')
    now = noon('2026-06-10')
    const about = { accountId, requestId: hold.exchangeId, sequence: 0, reason: 'empty', operator: 'olga' }
    await correctCharge(records, { ...about, costMicros: 30_000_000 }, now)
    await store.accounts.debit({ accountId, amountMicros: 20_000_000, reason: 'no', source: 'operator' })
    const june = await of('2026-06', '30')
    now = noon('2026-07-10')
    await store.accounts.credit({ accountId, amountMicros: 90_000_000, reason: 'card', source: 'payment' })
    await chargeRoubles(store, accountId, 20)

    const july = await of('2026-07', '31')

    t.equal(closingBalance(may), 0, 'the gift paid for May')
    t.match(june, { opening: 0, rows: [{ name: 'Отмена скидки', debit: 2_000, credit: 0 }] })
    t.equal(july.opening, closingBalance(june))
    t.match(
      july.rows,
      [{ name: 'Оплата', debit: 0, credit: 9_000 }],
      "May's charges are in the document of July",
    )
    t.equal(closingBalance(july), -7_000)
    t.equal((await store.ledger.balance(accountId)).balanceMicros, 70_000_000)
    t.match(await of('2026-05', '31'), may, 'a signed statement does not change later')
  })

  await t.test('bookings are in the statement with their reasons, and rounding never drifts', async t => {
    let now = noon('2026-05-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const accountId = await companyAccount(store, company, '2026-05-01')
    const move = (by: 'credit' | 'debit', amountMicros: number, reason: string) => {
      now += 1
      return store.accounts[by]({ accountId, amountMicros, reason, source: 'operator' })
    }
    await move('credit', 90_000_000, 'сбой 4 мая')
    await move('debit', 50_000_000, 'возврат остатка, п/п № 77 от 05.05.2026')
    for (let count = 0; count < 5; count += 1) await move('credit', 6_000, 'доли копейки')

    const statement = await reconcile(records, seller, { accountId, from: '2026-05-01', to: '2026-05-31' })

    t.match(statement.rows.slice(0, 2), [
      { name: 'Корректировка (сбой 4 мая)', credit: 9_000 },
      { name: 'Корректировка (возврат остатка, п/п № 77 от 05.05.2026)', debit: 5_000 },
    ])
    t.equal(closingBalance(statement), -4_003, 'five times 0.6 of a kopeck are three')
    t.equal((await store.ledger.balance(accountId)).balanceMicros, 40_030_000)
  })

  await t.test('one transfer pays the invoices that it names, until it is reversed', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store, company, '2026-11-01')
    const make = async (amount: number) =>
      (await createInvoice(records, seller, { accountId, amount, at: noon('2026-11-20') })).id
    const first = await make(10_000)
    const second = await make(20_000)
    const pay = async (...amounts: readonly number[]) => {
      const purpose = 'Оплата по счетам № 1 от 20.11.2026, № 2 от 20.11.2026'
      const payments = amounts.map((amount, index) => {
        const number = String(amounts.length * 10 + index)
        return { number, date: '2026-11-23', amount, inn: company.inn, purpose }
      })
      const bytes = statementOf(payments, '2026-11-23')
      return importStatement(records, seller, { bytes, at: noon('2026-11-24'), isDryRun: false })
    }
    const paid = async () =>
      (await listInvoices(records, '2026-11-24')).map(one => `${one.state} ${one.paid}`).toReversed()

    const { credited } = await pay(30_000)
    t.match(credited, [{ account: accountId, invoice: '1, 2', reason: 'rule-1', amount: '300.00' }])
    t.same(await paid(), ['paid 10000', 'paid 20000'])
    t.match(await deletionBlockers(records, accountId, noon('2026-11-24')), { openInvoices: 0 })
    t.match(await store.ledger.balance(accountId), { balanceMicros: 300_000_000 })
    const [{ id } = { id: '' }] = credited
    await undoTransfer(records, { id, note: '', at: 1 })
    t.same(await paid(), ['open 0', 'open 0'])
    t.match(await deletionBlockers(records, accountId, noon('2026-11-24')), { openInvoices: 2 })
    await assignTransfer(records, { id, to: { invoiceId: second }, note: '', at: 2 })
    t.same(await paid(), ['open 0', 'overpaid 30000'])
    await undoTransfer(records, { id, note: '', at: 3 })
    t.match(await pay(12_000, 15_000), { credited: [{ invoice: '1, 2' }, { invoice: '2' }] })
    t.same(
      await paid(),
      ['paid 10000', 'part-paid 17000'],
      'the second transfer continues from what the first has paid',
    )
    const cancel = (invoice: string, by: Parameters<typeof cancelInvoice>[3]) =>
      cancelInvoice(records, invoice, 4, by)
    await t.rejects(cancel(first, { operator: 'olga' }), /no invoice .* could be canceled/, 'it is paid')
    await t.rejects(cancel(second, { accountId }), /no invoice .* could be canceled/, 'it is paid in part')
    await cancel(second, { operator: 'olga' })
    await t.rejects(
      assignTransfer(records, { id, to: { invoiceId: second }, note: '', at: 5 }),
      /no invoice .* could be paid.*name the account instead/,
    )
    t.same(await paid(), ['paid 10000', 'canceled 17000'])
    await t.rejects(
      records.write([{ write: records.build.deleteFrom('invoice_parts').where('invoice_id', '=', first) }]),
      /what was issued is not changed/,
    )
    t.same(await store.verify(), [])
  })

  await t.test('a payment whose purpose another export writes differently is credited once', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store, company, '2026-11-01')
    await createInvoice(records, seller, { accountId, amount: 100, at: noon('2026-11-20') })
    const take = (...purposes: readonly string[]) => {
      const of = { number: '7', date: '2026-11-23', amount: 100, inn: company.inn }
      const payments = purposes.map(purpose => ({ ...of, purpose }))
      const bytes = statementOf(payments, '2026-11-23')
      return importStatement(records, seller, { bytes, at: noon('2026-11-24'), isDryRun: false })
    }
    const windows = 'Оплата по счёту № 1 за ООО «Ромашка»'

    t.match(await take(windows), { credited: [{ reason: 'rule-1' }], queued: [], repeated: 0 })
    const dos = await take('ОПЛАТА ПО СЧЕТУ 1 ЗА ООО "РОМАШКА"')
    t.match(dos, { credited: [], queued: [], repeated: 1 }, 'the same letters and digits')
    const other = await take('Оплата по счету N 1')
    t.match(other, { credited: [], queued: [{ reason: 'alike' }], repeated: 0 }, 'a person decides')
    t.match(await listTransfers(records, 'queued'), [{ suggestions: JSON.stringify([accountId]) }])
    t.match(
      await take(windows, 'Оплата по счету N 1', 'по счету 1, остаток'),
      { credited: [{ reason: 'rule-1' }], queued: [], repeated: 2 },
      'the bank reports three of them',
    )
    t.match(await store.ledger.balance(accountId), { balanceMicros: 2_000_000 })
    t.same(await store.verify(), [])
  })

  await t.test('the purpose of a payment contains only what banks accept, and no unusual spaces', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store, company, '2026-11-01')
    const taxed = { ...seller, tax: [{ from: '2026-01-01', rate: 22 as const }] }

    const { document } = await createInvoice(records, taxed, {
      accountId,
      amount: 100_000_000,
      at: noon('2026-11-20'),
    })

    t.match(document.purpose, /^[ -~\u0410-\u044fЁё№]{1,210}$/)
    t.match(document.purpose, /\. В т\. ч\. НДС 22% 180327\.87$/)
  })

  await t.test('a document is printed with the signature of its day, even if the file changes', async t => {
    const now = noon('2026-10-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, company, '2026-10-01', 1000)
    const image = (text: string) => `data:image/png;base64,${Buffer.from(text).toString('base64')}`
    const signed = (text: string) => ({ ...seller, facsimile: image(text) })
    await chargeRoubles(store, id, 100)
    const invoice = await createInvoice(records, signed('first'), { accountId: id, amount: 100, at: now })
    await closeMonth(records, signed('first'), { month: '2026-10', at: noon('2026-11-01') })
    const [act] = await listClosing(records)
    const change = { id: act?.id ?? '', reason: 'Подпись', at: noon('2026-11-02') }
    const corrected = await correctClosing(records, signed('second'), change)

    t.match(act?.document.seller.facsimile, /^sha256:[0-9a-f]{64}$/, 'the image is stored once')
    t.equal(await facsimileOf(records, invoice.document), image('first'))
    t.equal(await facsimileOf(records, act!.document), image('first'))
    t.equal(await facsimileOf(records, corrected.document), image('second'))
    t.equal((await records.all(records.build.selectFrom('facsimiles').select('id'))).length, 2)
    await t.rejects(
      records.write([{ write: records.build.updateTable('facsimiles').set({ image: '' }) }]),
      /what was issued is not changed/,
    )
    await t.rejects(
      facsimileOf(records, { ...act!.document, seller: { ...seller, facsimile: 'sha256:00' } }),
      /the store has no image sha256:00/,
    )
  })
}
