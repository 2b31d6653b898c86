import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import pdfmake from 'pdfmake'
import type { TDocumentDefinitions } from 'pdfmake/interfaces.js'
import type { PrintedDocument } from '../document.ts'
import type { PrintJob, PrintResult } from './document-printer.ts'
import { layoutAct } from './layout-act.ts'
import { layoutInvoice } from './layout-invoice.ts'
import { layoutReconciliation } from './layout-reconciliation.ts'
import { layoutUpd } from './layout-upd.ts'

// The printer's thread. It answers each document with its PDF.
const port = parentPort
if (port === null) throw new Error('documents are printed in a thread of their own')

const fonts = join(dirname(createRequire(import.meta.url).resolve('pdfmake/package.json')), 'fonts', 'Roboto')
const regular = join(fonts, 'Roboto-Regular.ttf')
const bold = join(fonts, 'Roboto-Medium.ttf')
pdfmake.setFonts({ Roboto: { normal: regular, bold, italics: regular, bolditalics: bold } })
// Nothing of a document makes the printer read anything else.
pdfmake.setUrlAccessPolicy(() => false)
pdfmake.setLocalAccessPolicy(path => path === regular || path === bold)

function layout(document: PrintedDocument): TDocumentDefinitions {
  const { facsimile } = document.seller
  const image = facsimile === undefined ? undefined : dataUrl(facsimile)
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

function dataUrl(file: string): string {
  const bytes = readFileSync(file)
  return `data:image/${bytes[0] === 0x89 ? 'png' : 'jpeg'};base64,${bytes.toString('base64')}`
}

async function print({ id, document }: PrintJob): Promise<PrintResult> {
  try {
    return { id, bytes: await pdfmake.createPdf(layout(document)).getBuffer() }
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

port.on('message', (job: PrintJob) => void print(job).then(result => port.postMessage(result)))
