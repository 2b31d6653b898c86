import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import pdfmake from 'pdfmake'
import type { TDocumentDefinitions } from 'pdfmake/interfaces.js'
import type { PrintedDocument } from '../document.ts'
import type { PrintJob, PrintResult } from './document-printer.ts'
import { layoutAct, layoutReconciliation } from './layout-reconciliation.ts'
import { layoutInvoice } from './layout-invoice.ts'
import { layoutUpd } from './layout-upd.ts'

// The printer's thread: it replies to each document with its PDF.
const port = parentPort
if (port === null) throw new Error('documents are printed in a thread of their own')

const fonts = join(dirname(createRequire(import.meta.url).resolve('pdfmake/package.json')), 'fonts', 'Roboto')
const regular = join(fonts, 'Roboto-Regular.ttf')
const bold = join(fonts, 'Roboto-Medium.ttf')
pdfmake.setFonts({ Roboto: { normal: regular, bold, italics: regular, bolditalics: bold } })
// A document must not make the printer read any other file or URL.
pdfmake.setUrlAccessPolicy(() => false)
pdfmake.setLocalAccessPolicy(path => path === regular || path === bold)

function layout(document: PrintedDocument, image: string | undefined): TDocumentDefinitions {
  switch (document.kind) {
    case 'invoice':
      return layoutInvoice(document, image)
    case 'act':
      return layoutAct(document, image)
    case 'upd':
      return layoutUpd(document, image)
    case 'reconciliation':
      return layoutReconciliation(document, image)
  }
}

async function print({ id, document, image }: PrintJob): Promise<PrintResult> {
  try {
    return { id, bytes: await pdfmake.createPdf(layout(document, image)).getBuffer() }
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

port.on('message', (job: PrintJob) => void print(job).then(result => port.postMessage(result)))
