import type { Test } from 'tap'
import { amountInWords } from '../../lib/documents/print/layout-parts.ts'
import { listClosing, correctClosing, type StoredClosing } from '../../lib/documents/closing-documents.ts'
import type { ClosingDocument, Invoice } from '../../lib/documents/document.ts'
import { listInvoices } from '../../lib/documents/invoices.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { lastDay } from '../../lib/ledger/moscow-days.ts'
import { DocumentPrinter } from '../../lib/documents/print/document-printer.ts'
import { layoutInvoice } from '../../lib/documents/print/layout-invoice.ts'
import { closingBalance, reconcile } from '../../lib/documents/reconcile-account.ts'
import { writeUpd } from '../../lib/documents/upd-xml.ts'
import { roundToKopecks } from '../../lib/money/kopecks.ts'
import { updProblems } from '../fixtures/check-upd.ts'
import { pdfPages } from '../fixtures/pdf-text.ts'
import { readQrCode } from '../fixtures/read-qr-code.ts'
import { closedAt, months, seller } from './company-years.ts'
import type { World } from './company-years.ts'

/** Checks what must be true of the documents of all months. */
export async function checkYears(t: Test, world: World): Promise<void> {
  const records = await world.store.records()
  const all = await listClosing(records)
  const invoices = (await listInvoices(records, lastDay(months.at(-1) ?? ''))).map(one => one.document)
  const issued = all.filter(one => one.document.correction === undefined)
  checkNumbers(
    t,
    'documents',
    issued.map(one => one.document),
  )
  checkNumbers(t, 'invoices', invoices)
  await checkSums(t, world, issued)
  await checkFiles(t, all)
  await checkPrinted(t, [...all.map(one => one.document), ...invoices])
  t.strictSame(await world.store.verify(), [])
  const { length } = all
  t.comment(
    JSON.stringify({ documents: issued.length, reissues: length - issued.length, invoices: invoices.length }),
  )
  t.comment(JSON.stringify(world.counts))
}

/** In each year the numbers begin at 1, without gaps or duplicates. */
function checkNumbers(t: Test, name: string, documents: readonly (ClosingDocument | Invoice)[]): void {
  for (const year of new Set(documents.map(one => one.date.slice(0, 4)))) {
    const numbers = documents.filter(one => one.date.startsWith(year)).map(one => Number(one.number))
    t.strictSame(
      numbers.toSorted((a, b) => a - b),
      numbers.map((_, index) => index + 1),
      `${numbers.length} numbers of ${name} of ${year} have neither gaps nor duplicates`,
    )
  }
}

/**
 * The documents of an account add up, month by month, to all its charges, rounded once. Where corrections refunded more
 * than a month cost, there is no document until charges exceed the documents again.
 */
async function checkSums(t: Test, world: World, issued: readonly StoredClosing[]): Promise<void> {
  const { store, accounts, charged } = world
  const records = await store.records()
  const from = `${months[0]}-01`
  const to = lastDay(months.at(-1) ?? '')
  let compared = 0
  for (const accountId of accounts) {
    let micros = 0
    let documented = 0
    for (const month of months) {
      micros += charged.get(accountId)?.get(month) ?? 0
      const own = issued.filter(one => one.accountId === accountId && one.month === month)
      const expected = Math.max(documented, roundToKopecks(micros))
      documented += own.reduce((sum, one) => sum + one.document.amount, 0)
      compared += 1
      if (own.length > 1 || documented !== expected)
        t.fail(`${accountId} in ${month}: ${documented} of ${micros}`)
      for (const { document } of own) {
        const { rate } = seller.tax.findLast(tax => tax.from <= document.date) ?? {}
        if (document.tax.rate !== rate)
          t.fail(`${document.number} of ${month} has the rate ${document.tax.rate}`)
      }
    }
    const statement = await reconcile(records, seller, { accountId, from, to })
    const { balanceMicros } = await store.ledger.balance(accountId)
    const difference =
      closingBalance(statement) - (documented - roundToKopecks(micros)) + balanceMicros / 10_000
    if (Math.abs(difference) > 0.5)
      t.fail(`the statement of ${accountId} differs from its balance by ${difference}`)
  }
  t.equal(compared, accounts.length * months.length, `${compared} months of companies agree with the ledger`)
}

/** Every XML is valid by the tax service's schema, for both kinds and each rate. */
async function checkFiles(t: Test, all: readonly StoredClosing[]): Promise<void> {
  const kinds = new Set<string>()
  for (let first = 0; first < all.length; first += 100) {
    const files = all.slice(first, first + 100).map(one => writeUpd(one.document))
    t.strictSame(await updProblems(files), [])
    for (const { bytes } of files) {
      const text = new TextDecoder('windows-1251').decode(bytes)
      kinds.add(`${/Функция="(\S+)"/.exec(text)?.[1]} ${/НалСт="([^"]+)"/.exec(text)?.[1]}`)
    }
  }
  t.strictSame(kinds, new Set(['ДОП без НДС', 'СЧФДОП 5%', 'СЧФДОП 7%', 'СЧФДОП 22%']))
}

const roubles = new Intl.NumberFormat('ru-RU', { minimumFractionDigits: 2 })
const days = new Intl.DateTimeFormat('ru-RU', { dateStyle: 'long', timeZone: 'UTC' })
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** Every PDF has the text that an accountant needs, and every payment code the fields of the standard. */
async function checkPrinted(t: Test, documents: readonly (ClosingDocument | Invoice)[]): Promise<void> {
  const printer = new DocumentPrinter()
  t.teardown(() => printer.close())
  let missing = 0
  for (const document of documents) {
    const text = (await pdfPages(await printer.print(document))).join(' ')
    const { number, date, amount, vat, tax, buyer } = document
    for (const said of [
      `№ ${number} от ${days.format(Date.parse(date))}`,
      roubles.format(amount / 100),
      amountInWords(amount),
      seller.inn,
      buyer.inn,
      tax.rate === 'none'
        ? `НДС не облагается (${tax.basis})`
        : `В том числе НДС ${tax.rate}% — ${roubles.format(vat / 100)} руб.`,
    ]) {
      if (text.includes(plain(said))) continue
      missing += 1
      t.fail(`${document.kind} ${number} does not contain ${said}`)
    }
    if (document.kind === 'invoice') checkCode(t, document)
  }
  t.equal(missing, 0, `${documents.length} PDFs contain number, date, sums, words, INN and tax`)
}

function checkCode(t: Test, invoice: Invoice): void {
  const svg = JSON.stringify(layoutInvoice(invoice).content)
    .match(/<svg.*?<\/svg>/)?.[0]
    .replaceAll('\\"', '"')
  const { bank, name, inn, kpp } = invoice.seller
  const expected =
    `ST00012|Name=${name}|PersonalAcc=${bank.account}|BankName=${bank.name}|BIC=${bank.bic}|` +
    `CorrespAcc=${bank.correspondentAccount}|PayeeINN=${inn}|KPP=${kpp}|Sum=${invoice.amount}|Purpose=${invoice.purpose}`
  const read = readQrCode(`class="qr-code"${svg}`)
  if (read !== expected) t.fail(`the code of invoice ${invoice.number} contains ${read}`)
}

/** A corrected document keeps its number and sum; closing again changes nothing. */
export async function checkThatNothingChanges(t: Test, world: World): Promise<void> {
  const records = await world.store.records()
  const last = months.at(-1) ?? ''
  const before = await listClosing(records)
  const close = () => closeMonth(records, seller, { month: last, at: closedAt(last) })

  t.match(await close(), { months: [], made: [] })
  t.strictSame(await listClosing(records), before)
  const one = before[0]!
  await correctClosing(records, seller, { id: one.id, reason: 'Уточнён адрес', at: closedAt(last) })
  t.match(await close(), { months: [], made: [] })
  t.equal((await listClosing(records)).length, before.length + 1)
}
