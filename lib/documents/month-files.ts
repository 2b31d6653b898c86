import { zipSync, type ZippableFile } from 'fflate'
import type { RecordReader } from '../stores/records/records.ts'
import type { ListedClosing, StoredClosing } from './closing-documents.ts'
import { printDocument, type DocumentPrinter } from './print/document-printer.ts'
import { writeUpd } from './upd-xml.ts'
import { formatKopecks } from '../money/kopecks.ts'
import type { ClosingRow } from '../stores/records/document-tables.ts'
import { csvTable } from './csv-table.ts'
import { printedRate, shortDay } from './print/printed-text.ts'

/**
 * Packs files into one ZIP archive; the same files and day produce the same bytes.
 * @param day ISO; the archive has no time zone
 */
export function zipFiles(files: readonly DocumentFile[], day: string): Uint8Array {
  const mtime = new Date(`${day}T00:00:00`)
  const entries = files.map(({ name, bytes }): [string, ZippableFile] => [
    name,
    // A PDF is already compressed.
    [bytes, { level: name.endsWith('.pdf') ? 0 : 6 }],
  ])
  return zipSync(Object.fromEntries(entries), { mtime })
}

/** A file for an accountant. */
export interface DocumentFile {
  readonly name: string
  readonly bytes: Uint8Array
}

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

/**
 * The closing documents of a month as a CSV table, one row for each, corrections included. Replaced documents have no
 * amounts, so that the columns sum to the sales.
 */
function register(documents: readonly ListedClosing[]): string {
  const rows = documents.map(({ document, state, isReplaced }) => {
    const { kind, number, date, correction, buyer, amount, tax, vat } = document
    return [
      kind === 'act' ? 'Акт' : 'УПД',
      number,
      shortDay(date),
      correction === undefined ? '' : `${correction.number} от ${shortDay(correction.date)}`,
      buyer.name,
      buyer.inn,
      buyer.kpp ?? '',
      isReplaced ? '' : { number: formatKopecks(amount) },
      printedRate(tax.rate),
      isReplaced ? '' : { number: formatKopecks(vat) },
      isReplaced ? `${states[state]}, исправлен` : states[state],
    ]
  })
  return csvTable([columns, ...rows])
}

/** Documents for the accountant: each as PDF and XML, and a register of all. */
export async function monthFiles(
  records: RecordReader,
  printer: Pick<DocumentPrinter, 'print'>,
  documents: readonly ListedClosing[],
): Promise<readonly DocumentFile[]> {
  const files: DocumentFile[] = []
  for (const stored of documents) {
    const bytes = await printDocument(records, printer, stored.document)
    files.push({ name: `${fileName(stored)}.pdf`, bytes }, writeUpd(stored.document))
  }
  return [...files, { name: 'register.csv', bytes: Buffer.from(register(documents)) }]
}

/** `2026-upd-17-7736207543`, with the number of the correction if it is one. */
function fileName({ document }: StoredClosing): string {
  const { kind, number, date, buyer, correction } = document
  const corrected = correction === undefined ? '' : `-correction-${correction.number}`
  return `${date.slice(0, 4)}-${kind}-${number}-${buyer.inn}${corrected}`
}
