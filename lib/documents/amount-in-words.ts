import numberToWords from 'number-to-words-ru'
import { formatKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'

/** «Двенадцать тысяч триста сорок пять рублей 01 копейка». */
export function amountInWords(amount: Kopecks): string {
  return numberToWords.convert(formatKopecks(amount), {
    currency: 'rub',
    convertNumberToWords: { integer: true, fractional: false },
  })
}
