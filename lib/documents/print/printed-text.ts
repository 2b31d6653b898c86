import type { CompanyDetails } from '../../companies/company-details.ts'
import type { TaxRate } from '../../companies/seller.ts'
import { formatKopecks } from '../../money/kopecks.ts'
import type { Kopecks } from '../../money/kopecks.ts'

const noBreak = '\u00a0'
const months = [
  'января',
  'февраля',
  'марта',
  'апреля',
  'мая',
  'июня',
  'июля',
  'августа',
  'сентября',
  'октября',
  'ноября',
  'декабря',
]

/** `12 345,00`. */
export function printedAmount(amount: Kopecks): string {
  const [whole = '', fraction = ''] = formatKopecks(amount).split('.')
  return `${whole.replaceAll(/\B(?=(\d{3})+$)/g, noBreak)},${fraction}`
}

/** `2026-11-20` as `20.11.2026`. */
export function shortDay(iso: string): string {
  return iso.split('-').toReversed().join('.')
}

/** `20 ноября 2026 г.` */
export function longDay(iso: string): string {
  const [year, month, day] = iso.split('-')
  return [Number(day), months[Number(month) - 1], year, 'г.'].join(noBreak)
}

/** `Договор-оферта № 10042 от 01.02.2026`. */
export function contractLine({
  name,
  number,
  date,
}: Readonly<Record<'name' | 'number' | 'date', string>>): string {
  return `${name} № ${number} от ${shortDay(date)}`
}

/** The number of a payment order; some banks send none. */
export function orderNumber({ number }: { readonly number: string }): string {
  return number || 'б/н'
}

/** `22%`, `без НДС`. */
export function printedRate(rate: TaxRate): string {
  return rate === 'none' ? 'без НДС' : `${rate}%`
}

/** Columns are narrow, so text without spaces may break after every 24 characters. */
export function breakable(text: string): string {
  return text.replaceAll(/[^\s-]{24}(?=[^\s-])/gu, '$&\u200b')
}

/** A company in one line: name, INN, KPP, address. */
export function companyLine({ name, inn, kpp, address }: CompanyDetails): string {
  return breakable([name, `ИНН ${inn}`, ...(kpp === undefined ? [] : [`КПП ${kpp}`]), address].join(', '))
}
