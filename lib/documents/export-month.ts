import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatKopecks } from '../money/kopecks.ts'
import type { StoredClosing } from './closing-rows.ts'
import { DocumentPrinter } from './print/document-printer.ts'
import { shortDay } from './print/printed-text.ts'
import { writeUpd } from './upd-xml.ts'

/** Writes documents into a folder: each as PDF and XML, and a register of all. Answers the names of the files. */
export async function exportMonth(
  documents: readonly StoredClosing[],
  folder: string,
): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  const write = (name: string, bytes: Uint8Array | string): void => {
    writeFileSync(join(folder, name), bytes)
    files.push(name)
  }
  const printer = new DocumentPrinter()
  try {
    for (const stored of documents) {
      const xml = writeUpd(stored.document)
      write(`${fileName(stored)}.pdf`, await printer.print(stored.document))
      write(xml.name, xml.bytes)
    }
  } finally {
    await printer.close()
  }
  write('register.csv', register(documents))
  return files
}

/** `2026-upd-17-7736207543.pdf`, with the correction where it is one. */
function fileName({ document }: StoredClosing): string {
  const { kind, number, date, buyer, correction } = document
  const corrected = correction === undefined ? '' : `-correction-${correction.number}`
  return `${date.slice(0, 4)}-${kind}-${number}-${buyer.inn}${corrected}`
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

/** A table as Excel reads it in Russia: semicolons, commas in decimals, UTF-8 with a mark. */
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
      formatKopecks(amount).replace('.', ','),
      tax.rate === 'none' ? 'без НДС' : `${tax.rate}%`,
      formatKopecks(vat).replace('.', ','),
      state,
    ]
  })
  return `\ufeff${[columns, ...rows].map(row => row.map(cell).join(';')).join('\r\n')}\r\n`
}

/** What begins like a formula must not become one. */
function cell(text: string): string {
  const plain = /^[=+\-@\t]/.test(text) ? `'${text}` : text
  return /[";\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
