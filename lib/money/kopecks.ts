import type { Micros } from './amount.ts'

/** Integer kopecks: 1 rouble is 100. The unit of documents and banks. Always a safe integer. */
export type Kopecks = number

export const microsPerKopeck = 10_000

const decimal = /^(\d{1,13})(?:[.,](\d{1,2}))?$/

/** Reads roubles to the kopeck: `"45329.91"`, `"100"`, `"100,5"`; undefined if the text is not such an amount. */
export function parseKopecks(text: string): Kopecks | undefined {
  const match = decimal.exec(text)
  if (match === null) return undefined
  return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
}

/** Writes kopecks as roubles with two decimals: 1234500 is `"12345.00"`. */
export function formatKopecks(kopecks: Kopecks): string {
  if (!Number.isSafeInteger(kopecks)) throw new RangeError(`${kopecks} is not a number of kopecks`)
  const size = Math.abs(kopecks)
  return `${kopecks < 0 ? '-' : ''}${Math.floor(size / 100)}.${String(size % 100).padStart(2, '0')}`
}

/** Kopecks of micro-roubles, rounded half up. */
export function roundToKopecks(micros: Micros): Kopecks {
  return Math.floor((micros + microsPerKopeck / 2) / microsPerKopeck)
}

/**
 * Writes micro-roubles that are whole kopecks: 1500000000 is `"1500.00"`.
 * @throws RangeError when the amount includes a fraction of a kopeck
 */
export function formatWholeKopecks(micros: Micros): string {
  return formatKopecks(micros / microsPerKopeck)
}
