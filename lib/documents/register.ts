import { formatKopecks } from '../money/kopecks.ts'
import type { ClosingRow } from '../stores/records/document-tables.ts'
import type { StoredClosing } from './closing-rows.ts'
import { csvTable } from './csv-table.ts'
import { printedRate, shortDay } from './print/printed-text.ts'

const columns = [
  'Вид',
  'Номер',
  'Дата',
  'Исправление',
  'Покупатель',
  'ИНН',
  'КПП',
  'Сумма',
  'Ставка НДС',
  'НДС',
  'Состояние',
]

const states: Readonly<Record<ClosingRow['state'], string>> = {
  issued: 'выставлен',
  sent: 'отправлен',
  signed: 'подписан',
}

/** The closing documents of a month as a table for spreadsheets, one row for each with its corrections. */
export function register(documents: readonly StoredClosing[]): string {
  const rows = documents.map(({ document, state }) => {
    const { kind, number, date, correction, buyer, amount, tax, vat } = document
    return [
      kind === 'act' ? 'Акт' : 'УПД',
      number,
      shortDay(date),
      correction === undefined ? '' : `${correction.number} от ${shortDay(correction.date)}`,
      buyer.name,
      buyer.inn,
      buyer.kpp ?? '',
      { number: formatKopecks(amount) },
      printedRate(tax.rate),
      { number: formatKopecks(vat) },
      states[state],
    ]
  })
  return csvTable([columns, ...rows])
}
