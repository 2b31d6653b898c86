import { parseRoubles, formatRoubles, type Micros } from '../../money/amount.ts'
import type { Language } from '../texts/language.ts'

/** What people write around the digits, or paste with them: spaces of any width, a currency. */
const around = /[\s'’]|₽|руб(?:\.|л[а-я]*)?|р\.?$|rub$/giu

function isGrouped(digits: string, mark: string): boolean {
  const [first = '', ...groups] = digits.split(mark)
  return /^[1-9]\d{0,2}$/.test(first) && groups.every(group => /^\d{3}$/.test(group))
}

/** The digits with a decimal point; undefined when commas and points make no number. */
function withPoint(text: string, language: Language): string | undefined {
  const last = Math.max(text.lastIndexOf(','), text.lastIndexOf('.'))
  if (last === -1) return text
  const mark = text.charAt(last)
  const other = mark === ',' ? '.' : ','
  const whole = text.slice(0, last)
  // `1,500` is fifteen hundred in English; a Russian writes one and a half so.
  const isThousands = language === 'en' && mark === ',' && isGrouped(text, mark)
  if (isThousands || whole.includes(mark))
    return isGrouped(text, mark) ? text.replaceAll(mark, '') : undefined
  if (whole.includes(other) && !isGrouped(whole, other)) return undefined
  return `${whole.replaceAll(other, '')}.${text.slice(last + 1)}`
}

/**
 * Reads an amount as people write it: `1 000,50 ₽`, `1,000.50`.
 * @returns micro-roubles; `'empty'` when nothing is typed, undefined when it is no amount above zero
 */
export function typedRoubles(typed: string, language: Language): Micros | 'empty' | undefined {
  const text = typed.replaceAll(around, '')
  if (text === '') return typed.trim() === '' ? 'empty' : undefined
  const decimal = withPoint(text, language)
  try {
    const micros = decimal === undefined ? 0 : parseRoubles(decimal)
    return micros > 0 ? micros : undefined
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
}

/** An amount as it stands in a field: `1000,5`, in English `1000.5`; nothing for none. */
export function roublesTyped(micros: number | undefined, language: Language): string {
  return micros === undefined
    ? ''
    : formatRoubles(micros)
        .replace(/\.?0+$/, '')
        .replace('.', language === 'ru' ? ',' : '.')
}
