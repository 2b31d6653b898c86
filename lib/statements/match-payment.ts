import type { Kopecks } from '../money/kopecks.ts'

/** An invoice as the purpose of a payment names it. */
interface NamedInvoice {
  /** In capitals, without leading zeros. */
  readonly number: string
  /** ISO, if the purpose names the day. */
  readonly date?: string
}

const sign = String.raw`(?:№|N[oо]?\.?(?=\s*\d)|#|ном(?:ер|\.))`
const number = String.raw`${sign}*\s*([A-ZА-ЯЁ\d-]*\d)(?![\d.]*\d)`
const date = String.raw`(?:\s*(?:от|dated|of)\s*(\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2}))(?!\d))?`
/** «по счету № 12 от 20.11.2026», «сч.12», but not the account of the customer or of the bank. */
const byInvoice = new RegExp(
  String.raw`(?<!(?:лицев|расч[её]тн|банковск|л\/|р\/)[\p{L}.]*\s*)(?<!\p{L})(?:сч[её]т\p{L}*|сч\.?|invoice)\s*(?:на\s+оплату\s*)?${number}${date}`,
  'giu',
)
/** A continuation with one more number: «, № 13 от 21.11.2026», « и 13», but not «, 5 шт» or «, 1000 руб.». */
const another = new RegExp(
  String.raw`\s*(?:г(?:\.|ода?)?\s*)?(?:[,;+]|(?<!\p{L})и(?!\p{L}))\s*(?:сч[её]т\p{L}*\s*|сч\.?\s*)?${number}(?!\s*(?:%|р\.|руб|коп|шт|дн|мес))${date}`,
  'iuy',
)
/** «№ 12» alone, but not of a contract, an act or the like. */
const byNumber = new RegExp(
  String.raw`(?<!(?:дог|контракт|акт|упд|накладн|заявк|соглашени|фактур|сч?[/-]ф|п\/п|поручени|реестр|сч[её]т|карт|заказ)[\p{L}.]*\s*)№\s*([A-ZА-ЯЁ\d-]*\d)(?![\d.]*\d)${date}`,
  'giu',
)

/** A number in the form for comparison: people drop zeros and change the case. */
export function comparableNumber(text: string): string {
  return text.toUpperCase().replace(/^0+(?=\d)/, '')
}

/** The invoices that a purpose names: those that it calls invoices if there are any, else bare numbers. */
export function namedInvoices(purpose: string): readonly NamedInvoice[] {
  // The longest purpose that a bank accepts is 210 characters; the rest of a longer text is ignored.
  const text = purpose.slice(0, 420)
  for (const pattern of [byInvoice, byNumber]) {
    const found = Array.from(text.matchAll(pattern), match => listFrom(text, match)).flat()
    if (found.length > 0) return [...new Map(found.map(one => [JSON.stringify(one), one])).values()]
  }
  return []
}

/** The number that a match names, and those listed after it. */
function listFrom(text: string, match: RegExpExecArray): readonly NamedInvoice[] {
  const found: NamedInvoice[] = []
  for (let next: RegExpExecArray | null = match; next !== null;) {
    const [whole, number = '', day] = next
    found.push({ number: comparableNumber(number), ...(day !== undefined && isoOf(day)) })
    another.lastIndex = next.index + whole.length
    next = another.exec(text)
  }
  return found
}

function isoOf(text: string): { date?: string } {
  const [day = '', month = '', year = ''] = text.split('.')
  return { date: `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` }
}

/** An invoice that a payment may be for. */
export interface PayableInvoice {
  readonly id: string
  readonly accountId: string
  readonly number: string
  readonly date: string
  readonly amount: Kopecks
  /** The part of it that is not paid. */
  readonly open: Kopecks
  /** The buyer's INN at the time of the invoice. */
  readonly inn: string
  readonly isCanceled: boolean
  /** The account cannot use the money. */
  readonly isAccountDeleted: boolean
}

interface InvoicePart {
  readonly invoice: PayableInvoice
  readonly amount: Kopecks
}

/** The account of a payment's money, or why a person must decide. */
export type Match =
  /** Rule 1: number, payer and sum agree; rule 2: the sum differs, and is credited as it arrived. */
  | {
      readonly kind: 'credit'
      readonly rule: 1 | 2
      readonly accountId: string
      /** The part of the sum that pays each invoice: all of the sum, at least one invoice. */
      readonly parts: readonly InvoicePart[]
    }
  | {
      readonly kind: 'queue'
      readonly reason:
        | 'payer-known'
        | 'payer-other'
        | 'payer-unknown'
        | 'invoice-cancelled'
        | 'account-deleted'
        | 'ambiguous'
        /** An earlier payment differs only in its purpose. */
        | 'alike'
      /** Accounts that it may belong to, the most likely first. */
      readonly accountIds: readonly string[]
    }

/** The data of a payment that decide. */
interface PaymentToMatch {
  readonly amount: Kopecks
  readonly payerInn: string
  readonly purpose: string
}

/** Known data: invoices by number, of all buyers, and accounts by the INN of their company. */
export interface Payable {
  invoicesByNumber(number: string): readonly PayableInvoice[]
  accountsByInn(inn: string): readonly string[]
}

/**
 * Finds the account of a payment. Only a payer who names an invoice of its own is credited at once; everything else is
 * for a person, with suggestions.
 */
export function matchPayment(payment: PaymentToMatch, payable: Payable): Match {
  const named = namedInvoices(payment.purpose)
  const found = named.flatMap(one =>
    payable.invoicesByNumber(one.number).filter(invoice => comparableNumber(invoice.number) === one.number),
  )
  const own = found.filter(invoice => payment.payerInn !== '' && invoice.inn === payment.payerInn)
  if (own.length > 0) return matchOwn(payment, own, named)
  const byInn = payment.payerInn === '' ? [] : payable.accountsByInn(payment.payerInn)
  const byNumber = found.filter(one => !one.isAccountDeleted).map(invoice => invoice.accountId)
  const accountIds = [...new Set([...byInn, ...byNumber])]
  if (byInn.length > 0) return { kind: 'queue', reason: 'payer-known', accountIds }
  return { kind: 'queue', reason: found.length > 0 ? 'payer-other' : 'payer-unknown', accountIds }
}

/** Numbers restart each year: the day decides, then the sum, then the newest invoice. */
function matchOwn(
  payment: PaymentToMatch,
  own: readonly PayableInvoice[],
  named: readonly NamedInvoice[],
): Match {
  const dated = prefer(own, invoice =>
    named.some(one => one.date === invoice.date && one.number === comparableNumber(invoice.number)),
  )
  const several = openOf(named, own)
  const total = several.reduce((sum, invoice) => sum + invoice.open, 0)
  const isOfOne = several.length < 2 || several.some(invoice => invoice.open === payment.amount)
  const accounts = [...new Set(several.map(invoice => invoice.accountId))]
  const [accountId] = accounts
  if (!isOfOne && accountId !== undefined && accounts.length === 1) {
    const rule = payment.amount === total ? 1 : 2
    return { kind: 'credit', rule, accountId, parts: split(payment.amount, several) }
  }
  const kept = prefer(dated, invoice => !invoice.isAccountDeleted)
  if (kept.every(invoice => invoice.isAccountDeleted))
    return { kind: 'queue', reason: 'account-deleted', accountIds: [] }
  const open = prefer(kept, invoice => !invoice.isCanceled)
  const unpaid = prefer(
    prefer(open, invoice => invoice.open > 0),
    invoice => invoice.open === payment.amount,
  )
  const likely = prefer(unpaid, invoice => invoice.amount === payment.amount).toSorted(newestFirst)
  const accountIds = [...new Set(likely.map(invoice => invoice.accountId))]
  const [invoice] = likely
  if (invoice === undefined || accountIds.length > 1)
    return { kind: 'queue', reason: 'ambiguous', accountIds }
  if (invoice.isCanceled) return { kind: 'queue', reason: 'invoice-cancelled', accountIds }
  const { amount } = payment
  const rule = invoice.amount === amount ? 1 : 2
  return { kind: 'credit', rule, accountId: invoice.accountId, parts: [{ invoice, amount }] }
}

function newestFirst(a: PayableInvoice, b: PayableInvoice): number {
  return b.date.localeCompare(a.date)
}

/** For each invoice number that is named, the invoice still to be paid, in the order of the purpose. */
function openOf(named: readonly NamedInvoice[], own: readonly PayableInvoice[]): readonly PayableInvoice[] {
  const found = named.flatMap(({ number, date }) => {
    const open = own.filter(
      one =>
        comparableNumber(one.number) === number && one.open > 0 && !one.isCanceled && !one.isAccountDeleted,
    )
    return prefer(open, one => one.date === date)
      .toSorted(newestFirst)
      .slice(0, 1)
  })
  return [...new Map(found.map(one => [one.id, one])).values()]
}

/** Pays invoices one after the other; the last one gets what remains. */
function split(amount: Kopecks, invoices: readonly PayableInvoice[]): readonly InvoicePart[] {
  let left = amount
  return invoices.flatMap((invoice, index) => {
    const part = index === invoices.length - 1 ? left : Math.min(left, invoice.open)
    left -= part
    return part > 0 ? [{ invoice, amount: part }] : []
  })
}

/** Those that satisfy the condition, or all when none does. */
function prefer<T>(all: readonly T[], holds: (one: T) => boolean): readonly T[] {
  const some = all.filter(holds)
  return some.length > 0 ? some : all
}
