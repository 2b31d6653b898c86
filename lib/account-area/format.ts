import type { Language } from './texts/texts.ts'

/** A narrow space that no line breaks at: between thousands. */
const narrow = '\u202f'
const noBreak = '\u00a0'
const million = 1_000_000n

function grouped(digits: string): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, narrow)
}

function roubles(micros: bigint, decimals: { readonly min: number; readonly max: number }): string {
  const isNegative = micros < 0n
  const step = 10n ** BigInt(6 - decimals.max)
  // Half up, away from zero.
  const rounded = (((isNegative ? -micros : micros) + step / 2n) / step) * step
  const whole = (rounded / million).toString()
  const fraction = (rounded % million).toString().padStart(6, '0').slice(0, decimals.max)
  const needed = fraction.replace(/0+$/, '').padEnd(decimals.min, '0')
  const sign = isNegative && rounded !== 0n ? '\u2212' : ''
  return `${sign}${grouped(whole)}${needed === '' ? '' : `,${needed}`}${noBreak}₽`
}

/** An amount to the kopeck: `1 234 567,80 ₽`. The same in both languages: it is roubles that are shown. */
export function money(micros: number): string {
  return roubles(BigInt(micros), { min: 2, max: 2 })
}

/** What one request cost, to the micro-rouble where it is needed: `0,001234 ₽`, `12,50 ₽`. */
export function smallMoney(micros: number): string {
  return roubles(BigInt(micros), { min: 2, max: 6 })
}

/** A sum of small costs: to the kopeck, or exactly where that would be nothing. */
export function spentMoney(micros: number): string {
  return micros < 10_000 ? smallMoney(micros) : money(micros)
}

const moscow = 'Europe/Moscow'
const locales = { ru: 'ru-RU', en: 'en-GB' } satisfies Record<Language, string>
const zone = { ru: 'МСК', en: 'MSK' } satisfies Record<Language, string>

/** Making one takes longer than all its uses on a page. */
const timeFormats = { ru: timeFormat('ru'), en: timeFormat('en') } satisfies Record<Language, unknown>

function timeFormat(language: Language): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locales[language], {
    timeZone: moscow,
    day: '2-digit',
    month: '2-digit',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })
}

/** A whole number: `1 234 567`. */
export function count(value: number): string {
  return grouped(String(value))
}

/** Units of usage, which may have a fraction: `1 234`, `12,5`. */
export function units(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  return fraction === undefined ? grouped(whole) : `${grouped(whole)},${fraction}`
}

/** Roubles that are a decimal already, as exact as they are: `1 234,50 ₽`, `0,0125 ₽`. */
export function exactRoubles(decimal: string): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  return `${grouped(whole)},${fraction.padEnd(2, '0')}${noBreak}₽`
}

/** A time in Moscow, with its zone: `20.11.2026, 15:04 МСК`. */
export function time(ms: number, language: Language): string {
  return `${timeFormats[language].format(ms)}${noBreak}${zone[language]}`
}

/** A time for exports: ISO 8601 in Moscow, `2026-11-20T15:04:05+03:00`. */
export function isoTime(ms: number): string {
  // Moscow has been three hours ahead, summer and winter, since 2014, before anything of ours.
  return new Date(ms + 3 * 60 * 60 * 1000).toISOString().replace(/\.\d+Z$/, '+03:00')
}

/** Whether a text is a day that there is, as fields for days have it. */
export function isDay(text: string): boolean {
  const begin = Date.parse(`${text}T00:00:00+03:00`)
  // The parser takes 31 February for a day of March.
  return /^\d{4}-\d\d-\d\d$/.test(text) && Number.isFinite(begin) && isoDay(begin) === text
}

/** A day in Moscow for fields and exports: `2026-11-20`. */
export function isoDay(ms: number): string {
  return isoTime(ms).slice(0, 10)
}

/** A day, as `budgetDay` counts them, without its year: `20.11`, `20/11`. */
export function day(daysSinceEpoch: number, language: Language): string {
  return new Intl.DateTimeFormat(locales[language], {
    timeZone: 'UTC',
    day: '2-digit',
    month: '2-digit',
  }).format(daysSinceEpoch * 86_400_000)
}
