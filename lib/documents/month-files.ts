import type { RecordReader } from '../stores/records/records.ts'
import type { StoredClosing } from './closing-rows.ts'
import type { DocumentPrinter } from './print/document-printer.ts'
import { printDocument } from './print/print-document.ts'
import { register } from './register.ts'
import { writeUpd } from './upd-xml.ts'

/** A file for an accountant. */
export interface DocumentFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Documents for whoever keeps the books: each as PDF and XML, and a register of all. */
export async function monthFiles(
  records: RecordReader,
  printer: Pick<DocumentPrinter, 'print'>,
  documents: readonly StoredClosing[],
): Promise<readonly DocumentFile[]> {
  const files: DocumentFile[] = []
  for (const stored of documents) {
    const bytes = await printDocument(records, printer, stored.document)
    files.push({ name: `${fileName(stored)}.pdf`, bytes }, writeUpd(stored.document))
  }
  return [...files, { name: 'register.csv', bytes: Buffer.from(register(documents)) }]
}

/** `2026-upd-17-7736207543`, with the correction where it is one. */
function fileName({ document }: StoredClosing): string {
  const { kind, number, date, buyer, correction } = document
  const corrected = correction === undefined ? '' : `-correction-${correction.number}`
  return `${date.slice(0, 4)}-${kind}-${number}-${buyer.inn}${corrected}`
}
