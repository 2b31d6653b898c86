import type { RecordReader } from '../../stores/records/records.ts'
import { facsimileOf } from '../facsimile.ts'
import type { PrintedDocument } from '../document.ts'
import type { DocumentPrinter } from './document-printer.ts'

/**
 * The PDF of a document, with the image of signature and stamp that was the seller's when it was issued.
 * @throws PrintError when it fails
 * @throws DocumentError when its image is lost
 */
export async function printDocument(
  records: RecordReader,
  printer: Pick<DocumentPrinter, 'print'>,
  document: PrintedDocument,
): Promise<Uint8Array> {
  return printer.print(document, await facsimileOf(records, document))
}
