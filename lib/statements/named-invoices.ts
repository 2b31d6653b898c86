/** An invoice as the purpose of a payment names it. */
export interface NamedInvoice {
  /** In capitals, without zeros before it. */
  readonly number: string
  /** ISO, where the purpose says the day. */
  readonly date?: string
}

const number = String.raw`(?:№|N[oо]?\.?(?=\s*\d)|#|ном(?:ер|\.))*\s*([A-ZА-ЯЁ\d-]*\d)(?![\d.]*\d)`
const date = String.raw`(?:\s*(?:от|dated|of)\s*(\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2}))(?!\d))?`
/** «по счету № 12 от 20.11.2026», «сч.12», but not the account of the customer or of the bank. */
const byInvoice = new RegExp(
  String.raw`(?<!(?:лицев|расч[её]тн|банковск|л\/|р\/)[\p{L}.]*\s*)(?<!\p{L})(?:сч[её]т\p{L}*|сч\.?|invoice)\s*(?:на\s+оплату\s*)?${number}${date}`,
  'giu',
)
/** «№ 12» alone, but not of a contract, an act or the like. */
const byNumber = new RegExp(
  String.raw`(?<!(?:дог|контракт|акт|упд|накладн|заявк|соглашени|фактур|сч[её]т|карт|заказ)[\p{L}.]*\s*)№\s*([A-ZА-ЯЁ\d-]*\d)(?![\d.]*\d)${date}`,
  'giu',
)

/** A number as numbers are compared: people drop zeros and change the case. */
export function comparableNumber(text: string): string {
  return text.toUpperCase().replace(/^0+(?=\d)/, '')
}

/** The invoices that a purpose names; those that it calls invoices if there are any, else bare numbers. */
export function namedInvoices(purpose: string): readonly NamedInvoice[] {
  // The longest purpose a bank takes is 210 characters; a longer text is not read on.
  const text = purpose.slice(0, 420)
  for (const pattern of [byInvoice, byNumber]) {
    const found = Array.from(text.matchAll(pattern), ([, number = '', day]) => ({
      number: comparableNumber(number),
      ...(day !== undefined && isoOf(day)),
    }))
    if (found.length > 0) return found
  }
  return []
}

function isoOf(text: string): { date?: string } {
  const [day = '', month = '', year = ''] = text.split('.')
  return { date: `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` }
}
