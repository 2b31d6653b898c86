import { repeat, type Repeated } from '../../platform/repeat.ts'
import { findClosing, storedClosing } from '../../documents/closing-documents.ts'
import { currentCompany } from '../../documents/company-versions.ts'
import { documentName, type PrintedDocument } from '../../documents/document.ts'
import {
  endDocumentEmail,
  postponeDocumentEmail,
  takeDocumentEmails,
} from '../../documents/document-emails.ts'
import { listInvoices, stillToPay } from '../../documents/invoices.ts'
import { moscowDay } from '../../ledger/moscow-days.ts'
import { printDocument } from '../../documents/print/document-printer.ts'
import { shortDay } from '../../documents/print/printed-text.ts'
import type { DocumentEmailRow } from '../../stores/records/document-tables.ts'
import { kopecks } from '../../web/format.ts'
import { chooseLanguage, type Language } from '../../web/texts/language.ts'
import { textsOf } from '../texts/texts.ts'
import type { Site } from '../page.ts'
import type { Mailer } from './mailer.ts'

interface DocumentEmailsOptions extends Pick<
  Site,
  'records' | 'members' | 'printer' | 'publicUrl' | 'name' | 'clock' | 'log'
> {
  readonly mailer: Mailer
}

/** The content of an email, and the attached document. */
interface Composed {
  readonly subject: string
  readonly text: string
  readonly document: PrintedDocument
}

/** How often the store is polled; an empty result costs next to nothing. */
const everyMs = 1000

/**
 * Emails documents to companies. Each pending email is written with its document, claimed here so that one node sends
 * it, and ended when a mail server has accepted it, so that a crash in between loses none.
 */
export function emailDocuments(options: DocumentEmailsOptions): Repeated {
  const { records, clock, log } = options
  let isClosed = false
  const sending = repeat(everyMs, async () => {
    try {
      for (const row of await takeDocumentEmails(records, clock.now())) {
        if (isClosed) return
        await send(options, row)
      }
    } catch (error) {
      if (!isClosed) log.error({ error }, 'emails of documents could not be sent')
    }
  })
  return {
    close() {
      isClosed = true
      return sending.close()
    },
  }
}

async function send(options: DocumentEmailsOptions, row: DocumentEmailRow): Promise<void> {
  const { records, clock, log } = options
  try {
    if (await deliver(options, row)) return
    log.warn({ document: row.document_id }, 'the email of a document waits for the mail server')
  } catch (error) {
    log.error({ error, document: row.document_id }, 'the email of a document could not be made')
  }
  await postponeDocumentEmail(records, row, clock.now())
}

/** Returns whether the email is done: sent or dropped. */
async function deliver(options: DocumentEmailsOptions, row: DocumentEmailRow): Promise<boolean> {
  const { records, mailer, printer, members, publicUrl, clock } = options
  const language = chooseLanguage(await members.ownerLanguage(row.account_id))
  const composed = await compose(options, row, language)
  const to = (await currentCompany(records, row.account_id))?.details.email
  if (composed === undefined || to === undefined) {
    await endDocumentEmail(records, row, 'dropped', clock.now())
    return true
  }
  const { subject, text, document } = composed
  const content = Buffer.from(await printDocument(records, printer, document))
  const isSent = await mailer.deliver({
    to,
    subject,
    text,
    // A stable id, so that a mail server can detect a duplicate after a crash.
    messageId: `<${row.kind}.${row.document_id}@${publicUrl.hostname}>`,
    attachments: [{ filename: `${documentName(document)}.pdf`, content }],
  })
  if (isSent) await endDocumentEmail(records, row, 'sent', clock.now())
  return isSent
}

/** Undefined when the email is no longer relevant. */
async function compose(
  { records, name: site, publicUrl, clock }: DocumentEmailsOptions,
  row: DocumentEmailRow,
  language: Language,
): Promise<Composed | undefined> {
  const texts = textsOf(language).documentEmails
  const link = (path: string): string => new URL(path, publicUrl).href
  if (row.kind === 'closing-issued') {
    const { document } = storedClosing(await findClosing(records, row.document_id))
    const said = {
      site,
      document: documentName(document),
      amount: kopecks(document.amount, language),
      link: link(`/documents?year=${document.date.slice(0, 4)}`),
      reason: document.correction?.reason,
    }
    const { subject, text } = texts[row.kind]
    return { subject: subject(said), text: text(said), document }
  }
  const [invoice] = await listInvoices(records, moscowDay(clock.now()), { id: row.document_id })
  if (invoice === undefined || !isOpen(invoice.state)) return undefined
  const { document, token } = invoice
  const { amount, purpose } = stillToPay(invoice)
  const said = {
    site,
    document: documentName(document),
    amount: kopecks(amount, language),
    payUntil: shortDay(document.payUntil),
    purpose,
    link: link(`/invoices/${token}`),
  }
  const { subject, text } = texts[row.kind]
  return { subject: subject(said), text: text(said), document }
}

/** Whether an invoice is still unpaid. */
function isOpen(state: string): boolean {
  return state === 'open' || state === 'overdue' || state === 'part-paid'
}
