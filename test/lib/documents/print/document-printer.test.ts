import t from 'tap'
import { DocumentPrinter } from '../../../../lib/documents/print/document-printer.ts'
import { layoutInvoice } from '../../../../lib/documents/print/layout-invoice.ts'
import { paymentCode } from '../../../../lib/companies/seller.ts'
import { soleProprietor } from '../../../fixtures/companies.ts'
import { closingOf, invoiceOf, reconciliationOf } from '../../../fixtures/documents.ts'
import { pdfPages } from '../../../fixtures/pdf-text.ts'
import { readQrCode } from '../../../fixtures/read-qr-code.ts'

const printer = new DocumentPrinter()
t.teardown(() => printer.close())
const vat = { from: '2026-01-01', rate: 22 } as const

await t.test('an invoice has the details that accountants need, and a standard payment code', async t => {
  const invoice = invoiceOf([1_234_500], vat)

  const [page = '', ...others] = await pdfPages(await printer.print(invoice))

  t.same(others, [])
  for (const expected of [
    'Счёт на оплату № 1234 от 20 ноября 2026 г.',
    '12 345,00',
    'Двенадцать тысяч триста сорок пять рублей 00 копеек',
    'В том числе НДС 22% — 2 226,15 руб.',
    'ИНН 7707083893',
    'ИНН 7736207543',
    'КПП 770401001',
    '30101810400000000225',
    '40702810200000000001',
    'Оплатите до 27.11.2026',
    invoice.purpose,
    'Петров П. П.',
  ]) {
    t.ok(page.includes(expected), expected)
  }
  const svg = JSON.stringify(layoutInvoice(invoice).content)
    .match(/<svg.*?<\/svg>/)?.[0]
    .replaceAll('\\"', '"')
  t.equal(readQrCode(`class="qr-code"${svg}`), paymentCode(invoice.seller, 1_234_500, invoice.purpose))
})

await t.test(
  'an act has the tax exemption, a transfer document its columns, a statement its balance',
  async t => {
    const act = (await pdfPages(await printer.print(closingOf()))).join(' ')
    const upd = (await pdfPages(await printer.print(closingOf([1_234_500], vat)))).join(' ')
    const statement = (await pdfPages(await printer.print(reconciliationOf()))).join(' ')

    for (const expected of [
      'Акт № 1125 от 30 ноября 2026 г.',
      'НДС не облагается (п. 2 ст. 346.11 НК РФ)',
      '12 345,00',
      'Двенадцать тысяч',
      'ИНН 7736207543',
    ]) {
      t.ok(act.includes(expected), `act: ${expected}`)
    }
    for (const expected of [
      'Статус: 1',
      '№ 1125 от 30 ноября 2026 г.',
      '22%',
      '2 226,15',
      '10 118,85',
      '12 345,00',
      '7736207543/770401001',
      '№ 42 от 11.11.2026',
    ]) {
      t.ok(upd.includes(expected), `upd: ${expected}`)
    }
    for (const expected of [
      'Сальдо на 01.01.2026',
      '500,00',
      '24 690,00',
      '10 000,55',
      '15 189,45',
      'в пользу ООО «Ромашка»',
      'Пятнадцать тысяч сто восемьдесят девять рублей 45 копеек',
    ]) {
      t.ok(statement.includes(expected), `reconciliation: ${expected}`)
    }
  },
)

await t.test('a payment order without a number is printed as б/н, as in the XML', async t => {
  const payments = [{ number: '', date: '2026-11-11', amount: 1_234_500 }]

  const upd = (await pdfPages(await printer.print({ ...closingOf([1_234_500], vat), payments }))).join(' ')

  t.ok(upd.includes('№ б/н от 11.11.2026'))
})

await t.test('sixty lines are printed on several numbered pages, each with the table heading', async t => {
  const amounts = Array.from({ length: 60 }, (_, index) => 100_000 + index)
  for (const [document, heading] of [
    [closingOf(amounts), 'Наименование работ, услуг'],
    [closingOf(amounts, vat), 'Стоимость с налогом'],
    [reconciliationOf(60), 'По данным ООО «Шлюз»'],
  ] as const) {
    const pages = await pdfPages(await printer.print(document))

    t.ok(pages.length > 1)
    for (const [index, page] of pages.entries()) {
      t.ok(page.includes(`лист ${index + 1} из ${pages.length}`))
      if (/1 00\d,\d\d.*1 00\d,\d\d/.test(page))
        t.ok(page.includes(heading), `${document.kind}, page ${index + 1}`)
    }
    if (document.kind !== 'reconciliation') t.ok(pages.join(' ').includes('модель № 60'))
  }
})

await t.test('long names and special characters are printed in full', async t => {
  const name = `ООО «"Рога" & <Копыта>» ${'Я'.repeat(970)}`
  const buyer = { ...closingOf().buyer, name }

  for (const [document, times, last] of [
    [invoiceOf(), 1, 'Петров П. П.'],
    [closingOf(), 2, 'Иванова А. С.'],
    [closingOf([1_234_500], vat), 2, 'Иванова А. С.'],
    [reconciliationOf(), 3, 'Иванова А. С.'],
  ] as const) {
    const text = (await pdfPages(await printer.print({ ...document, buyer }))).join(' ')

    t.ok(text.includes('ООО «"Рога" & <Копыта>»'), document.kind)
    t.ok(text.replaceAll(/[^Я]/g, '').length >= times * 970, `${document.kind}: whole, ${times} times`)
    t.ok(text.includes(last), `${document.kind}: the signature below is printed`)
  }
})

await t.test('a sole proprietor, a correction and an image of the signature are printed', async t => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const document = {
    ...closingOf(),
    buyer: soleProprietor,
    correction: { number: 1, date: '2026-12-05', reason: 'Уточнён адрес' },
  }

  const pdf = await printer.print(document, `data:image/png;base64,${png}`)

  const text = (await pdfPages(pdf)).join(' ')
  t.ok(Buffer.from(pdf).includes('/Subtype /Image'))
  t.notOk(Buffer.from(await printer.print(document)).includes('/Subtype /Image'))
  t.ok(text.includes('ИП Кузнецов Олег Игоревич, ИНН 500100732259, 140000'))
  t.ok(text.includes('Исправление № 1 от 5 декабря 2026 г. Причина: Уточнён адрес'))
})

await t.test('the same document gives the same bytes', async t => {
  t.same(await printer.print(closingOf()), await printer.print(closingOf()))
})

await t.test('an invalid image fails with PrintError, and the printer goes on', async t => {
  for (const image of ['/etc/passwd', 'http://127.0.0.1/sign.png', 'data:image/png;base64,AAAA'])
    await t.rejects(printer.print(closingOf(), image), { name: 'PrintError' }, image)
  t.ok((await printer.print(closingOf())).length > 1000)
})

await t.test('a print over the time limit fails, and a closed printer refuses', async t => {
  const limited = new DocumentPrinter({ timeoutMs: 1 })
  t.teardown(() => limited.close())

  await t.rejects(limited.print(closingOf()), { name: 'PrintError', message: /took over 1 ms/ })
  await limited.close()
  await t.rejects(limited.print(closingOf()), /closed/)
})

await t.test('the event loop is never blocked for 250 ms while ten documents are printed', async t => {
  let longestMs = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last)
    last = performance.now()
  }, 5)
  t.teardown(() => clearInterval(timer))

  await Promise.all(
    Array.from({ length: 10 }, () => printer.print(closingOf(Array.from({ length: 60 }, () => 100)))),
  )

  t.ok(longestMs < 250, `the longest pause was ${Math.round(longestMs)} ms`)
})
