import type { Test } from 'tap'
import { createInvoice } from '../../lib/documents/invoices.ts'
import { importStatement } from '../../lib/documents/import-statement.ts'
import { listTransfers } from '../../lib/documents/transfers.ts'
import { encodeStatement, statementLines } from '../fixtures/bank-statement.ts'
import type { MadePayment } from '../fixtures/bank-statement.ts'
import { company, seller } from '../fixtures/companies.ts'
import { companyAccount, noon, statementOf } from './documents.ts'
import type { OpenStore } from './store-under-test.ts'

/** Valid payments, none of which a broken statement may credit. */
const good: readonly MadePayment[] = [
  { number: '1', amount: 400_005, inn: company.inn, purpose: 'по счету № 1 от 20.11.2026' },
  { number: '2', amount: 600_000, inn: company.inn, purpose: 'по счету № 1 от 20.11.2026' },
]
const lines = statementLines({ account: seller.bank.account, payments: good })
const bytesOf = (changed: readonly string[]) => encodeStatement(changed.join('\r\n'), 'windows-1251')
const replaced = (find: string, replace: string): Uint8Array => {
  if (!lines.includes(find)) throw new Error(`there is no line ${find}`)
  return bytesOf(lines.map(line => (line === find ? replace : line)))
}
const documentOf = (number: string): readonly string[] => {
  const begin = lines.indexOf(`Номер=${number}`) - 1
  return lines.slice(begin, lines.indexOf('КонецДокумента', begin) + 1)
}
const utf8 = Buffer.from(lines.join('\r\n'))

/** What is wrong with a statement, its bytes, and the error. */
const broken: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ['cut off within the last document', bytesOf(lines.slice(0, -4)), /line \d+: .*cut off/],
  ['cut off between documents', bytesOf(lines.slice(0, -1 - documentOf('2').length)), /line \d+: .*cut off/],
  ['cut off in the middle of a line', utf8.subarray(0, -40), /line \d+: .*cut off/],
  ['in UTF-16', Buffer.from(`\ufeff${lines.join('\r\n')}`, 'utf16le'), /UTF-16/],
  [
    'UTF-8 at first, and then another charset',
    Buffer.concat([utf8.subarray(0, -20), bytesOf(['Я']), utf8.subarray(-20)]),
    /line \d+: the statement begins in utf-8/,
  ],
  [
    'of another account',
    bytesOf(lines.map(line => line.replaceAll(seller.bank.account, '40702810500000000002'))),
    /of account 40702810500000000002; the seller's is/,
  ],
  [
    'with a duplicate document',
    bytesOf(lines.flatMap(line => (line === 'КонецФайла' ? [...documentOf('2'), line] : [line]))),
    /line \d+: .*doubled \(the document of line \d+ stands again in line \d+\)/,
  ],
  [
    'with a missing document',
    bytesOf(lines.filter(line => !documentOf('2').includes(line) || documentOf('1').includes(line))),
    /line \d+: /,
  ],
  [
    'whose total differs by a kopeck',
    replaced('ВсегоПоступило=10000.05', 'ВсегоПоступило=10000.06'),
    /line 9: ВсегоПоступило is 10000\.06/,
  ],
  [
    'whose last balance differs',
    replaced('КонечныйОстаток=10000.05', 'КонечныйОстаток=10000.50'),
    /line 9: КонечныйОстаток/,
  ],
  [
    'with a sum that lost its kopecks',
    replaced('Сумма=4000.05', 'Сумма=4000'),
    /line 9: ВсегоПоступило is 10000\.05, and the documents .* make 10000\.00/,
  ],
  [
    'with a sum of three decimals',
    replaced('Сумма=4000.05', 'Сумма=4000.051'),
    /line \d+: Сумма is "4000\.051"/,
  ],
  ['with a comma in a sum', replaced('Сумма=4000.05', 'Сумма=4 000,05'), /line \d+: /],
  [
    'with a day that does not exist',
    replaced('ДатаПоступило=01.11.2026', 'ДатаПоступило=31.11.2026'),
    /line \d+: ДатаПоступило is "31\.11\.2026"/,
  ],
  [
    'with a name of 3,000 characters',
    replaced('Плательщик1=ООО «Ромашка»', `Плательщик1=${'Я'.repeat(3000)}`),
    /line \d+: Плательщик1 has 3000 characters/,
  ],
]

/** The contract of invalid and unusual statements, on every store. */
export async function badStatementsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a statement with a mistake credits nothing, and the error says where it is', async t => {
    const store = await open(t)
    const records = await store.records()
    const accountId = await companyAccount(store)
    const invoice = await createInvoice(records, seller, {
      accountId,
      amount: 1_000_005,
      at: noon('2026-11-20'),
    })
    t.equal(invoice.document.number, '1')
    const take = (bytes: Uint8Array) =>
      importStatement(records, seller, { bytes, at: noon('2026-12-01'), isDryRun: false })

    for (const [name, bytes, message] of broken) {
      await t.rejects(take(bytes), { name: 'StatementError', message }, name)
      t.same(await listTransfers(records), [], `no payment of one ${name}`)
    }
    t.equal((await store.ledger.balance(accountId)).balanceMicros, 0)

    t.match(
      await take(bytesOf(lines)),
      { credited: { length: 2 }, queued: [] },
      'the valid one is accepted afterwards',
    )
    t.equal((await store.ledger.balance(accountId)).balanceMicros, 10_000_050_000)
  })

  await t.test(
    'a payment with a wrong digit or an odd name of the payer waits for a person, uncredited',
    async t => {
      const store = await open(t)
      const records = await store.records()
      const accountId = await companyAccount(store)
      await createInvoice(records, seller, { accountId, amount: 400_005, at: noon('2026-11-20') })
      const named = { amount: 400_005, purpose: 'по счету № 1 от 20.11.2026' }
      const long = 'Я'.repeat(1000)
      const bytes = statementOf([
        { ...named, number: '1', inn: '7736207544' },
        { ...named, number: '2', inn: '77362075' },
        { ...named, number: '3', inn: '', name: 'ООО "Рога & <Копыта>" «Ёлка»=1' },
        { ...named, number: '4', inn: '', name: long },
      ])

      const { credited, queued } = await importStatement(records, seller, { bytes, at: 1, isDryRun: false })

      t.same(credited, [])
      t.same(
        queued.map(one => one.payerName),
        [company.name, company.name, 'ООО "Рога & <Копыта>" «Ёлка»=1', long],
      )
      const marked = Buffer.from(
        statementLines({
          account: seller.bank.account,
          payments: [{ ...named, number: '5', inn: '', name: 'ООО \u202eкамор' }],
        }).join('\n'),
      )
      t.match(await importStatement(records, seller, { bytes: marked, at: 1, isDryRun: false }), {
        credited: [],
        queued: [{ payerName: 'ООО \u202eкамор' }],
      })
      t.equal((await store.ledger.balance(accountId)).balanceMicros, 0)
      t.equal((await listTransfers(records, 'queued')).length, 5)
    },
  )
}
