import { microsPerKopeck } from '../money/kopecks.ts'
import { zonedTime } from '../platform/clock.ts'
import type { Language } from './texts/language.ts'

/** A narrow no-break space. */
const narrow = '\u202f'
const noBreak = '\u00a0'
const million = 1_000_000n

/** Group and decimal marks. In English a decimal comma would read as a thousands separator. */
const marks = {
  ru: { group: narrow, decimal: ',' },
  en: { group: ',', decimal: '.' },
} satisfies Record<Language, { readonly group: string; readonly decimal: string }>

function grouped(digits: string, language: Language): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, marks[language].group)
}

/** Formats a decimal such as `1234.5` for a language: `1 234,5`, `1,234.5`. */
export function decimal(text: string, language: Language): string {
  const [whole = '', fraction] = text.split('.')
  return `${grouped(whole, language)}${fraction === undefined ? '' : `${marks[language].decimal}${fraction}`}`
}

interface Rounding {
  readonly min: number
  readonly max: number
  /** Half up by default. */
  readonly to?: 'down' | 'up'
}

function roubles(micros: number, language: Language, { min, max, to }: Rounding): string {
  const size = BigInt(Math.abs(micros))
  const step = 10n ** BigInt(6 - max)
  const more = to === undefined ? step / 2n : to === 'up' ? step - 1n : 0n
  const rounded = ((size + more) / step) * step
  const fraction = (rounded % million).toString().padStart(6, '0').slice(0, max)
  const needed = fraction.replace(/0+$/, '').padEnd(min, '0')
  const sign = micros < 0 && rounded !== 0n ? '\u2212' : ''
  return `${sign}${decimal(`${rounded / million}${needed === '' ? '' : `.${needed}`}`, language)}${noBreak}₽`
}

/**
 * A balance to the kopeck, rounded down, so that the shown amount really exists: `1 234 567,80 ₽`, `1,234,567.80 ₽`.
 */
export function money(micros: number, language: Language): string {
  return roubles(micros, language, { min: 2, max: 2, to: 'down' })
}

/** An amount in kopecks, as in documents. */
export function kopecks(amount: number, language: Language): string {
  return money(amount * microsPerKopeck, language)
}

/** A debt to the kopeck, rounded up, so that paying the shown amount settles it. */
export function debtMoney(micros: number, language: Language): string {
  return roubles(micros, language, { min: 2, max: 2, to: 'up' })
}

/** The cost of one request, to the micro-rouble where needed: `0,001234 ₽`, `12,50 ₽`. */
export function smallMoney(micros: number, language: Language): string {
  return roubles(micros, language, { min: 2, max: 6 })
}

/** A sum of small costs: to the kopeck, or to the micro-rouble for sums below a kopeck. */
export function spentMoney(micros: number, language: Language): string {
  return roubles(micros, language, { min: 2, max: micros < 10_000 ? 6 : 2 })
}

const moscow = 'Europe/Moscow'
const locales = { ru: 'ru-RU', en: 'en-GB' } satisfies Record<Language, string>
const zone = { ru: 'МСК', en: 'MSK' } satisfies Record<Language, string>

/** Creating a format takes longer than all its uses on a page. */
const timeFormats = new Map<string, Intl.DateTimeFormat>()

function timeFormat(language: Language, timeZone: string): Intl.DateTimeFormat {
  const name = `${language} ${timeZone}`
  const known = timeFormats.get(name)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat(locales[language], {
    timeZone,
    day: '2-digit',
    month: '2-digit',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    // Readers know Moscow's abbreviation; Intl gives only its offset from UTC.
    ...(timeZone !== moscow && { timeZoneName: 'short' }),
  })
  timeFormats.set(name, format)
  return format
}

/** A space as wide as a digit. */
const figureSpace = '\u2007'

function decimalsOf(amount: string): number {
  return /[.,](\d+)\D*$/.exec(amount)?.[1]?.length ?? 0
}

/** Pads right-aligned amounts of a column so that their decimal marks line up. */
export function alignDecimals(amounts: readonly string[]): readonly string[] {
  const most = Math.max(0, ...amounts.map(decimalsOf))
  return amounts.map(amount => amount + figureSpace.repeat(most - decimalsOf(amount)))
}

/** A number, with a fraction for some units of usage: `1 234 567`, `12,5`. */
export function count(value: number, language: Language): string {
  return decimal(String(value), language)
}

/** Roubles given as a decimal, without rounding: `1 234,50 ₽`, `0,0125 ₽`. */
export function exactRoubles(text: string, language: Language): string {
  const [whole = '', fraction = ''] = text.split('.')
  return `${decimal(`${whole}.${fraction.padEnd(2, '0')}`, language)}${noBreak}₽`
}

/** A time with its zone, by default Moscow's: `20.11.2026, 15:04 МСК`. */
export function time(ms: number, language: Language, timeZone = moscow): string {
  const text = timeFormat(language, timeZone).format(ms)
  return timeZone === moscow ? `${text}${noBreak}${zone[language]}` : text
}

/** A long date, by default in Moscow: `20 ноября 2026 г.`, `20 November 2026`. */
export function longDay(ms: number, language: Language, timeZone = moscow): string {
  return new Intl.DateTimeFormat(locales[language], { timeZone, dateStyle: 'long' }).format(ms)
}

/** A long date from an ISO day: `20 ноября 2026 г.`, `20 November 2026`. */
export function shownDay(iso: string, language: Language): string {
  return longDay(Date.parse(`${iso}T12:00:00+03:00`), language)
}

/** A time for exports in ISO 8601, by default in Moscow: `2026-11-20T15:04:05+03:00`. */
export function isoTime(ms: number, timeZone = moscow): string {
  return zonedTime(ms, timeZone).replace(' ', 'T')
}

/** Whether a text is a valid ISO day, as date fields send it. */
export function isDay(text: string): boolean {
  const begin = Date.parse(`${text}T00:00:00+03:00`)
  // The parser reads 31 February as a day in March.
  return /^\d{4}-\d\d-\d\d$/.test(text) && Number.isFinite(begin) && isoDay(begin) === text
}

/** A day for fields and exports, by default in Moscow: `2026-11-20`. */
export function isoDay(ms: number, timeZone = moscow): string {
  return isoTime(ms, timeZone).slice(0, 10)
}

/** A day, as `budgetDay` counts them, without the year: `20.11`, `20/11`. */
export function day(daysSinceEpoch: number, language: Language): string {
  return new Intl.DateTimeFormat(locales[language], {
    timeZone: 'UTC',
    day: '2-digit',
    month: '2-digit',
  }).format(daysSinceEpoch * 86_400_000)
}

/** The display name of a word of the store; the word itself where there is none. */
export function named(names: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(names, word) ? (names[word] ?? word) : word
}
