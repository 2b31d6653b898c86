import { repeat } from '../../platform/repeat.ts'
import type { Members } from '../../administration/members.ts'
import type { Clock } from '../../platform/clock.ts'
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
import { printDocument, type DocumentPrinter } from '../../documents/print/document-printer.ts'
import { shortDay } from '../../documents/print/printed-text.ts'
import type { Log } from '../../platform/log.ts'
import { microsPerKopeck } from '../../money/kopecks.ts'
import type { DocumentEmailRow } from '../../stores/records/document-tables.ts'
import type { Records } from '../../stores/records/records.ts'
import { money } from '../../web/format.ts'
import { chooseLanguage, type Language } from '../../web/texts/language.ts'
import { textsOf } from '../texts/texts.ts'
import type { Mailer } from './mailer.ts'

interface DocumentEmailsOptions {
  readonly records: Records
  readonly members: Pick<Members, 'ownerLanguage'>
  readonly mailer: Pick<Mailer, 'deliver'>
  readonly printer: Pick<DocumentPrinter, 'print'>
  readonly publicUrl: URL
  /** Of the site. */
  readonly name: string
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
}

/** What an email says, and the document that goes with it. */
interface Composed {
  readonly subject: string
  readonly text: string
  readonly document: PrintedDocument
}

/** How often the store is asked, which costs it next to nothing while there are none. */
const everyMs = 1000

/**
 * Emails documents to companies. What is to be sent was written with the document; here it is taken, so that one node
 * sends it, and ended when a server has taken it, so that a crash in between loses none.
 */
export class DocumentEmails {
  readonly #options: DocumentEmailsOptions
  readonly #sending = repeat(everyMs, () => this.#sendAll())
  #isClosed = false

  constructor(options: DocumentEmailsOptions) {
    this.#options = options
  }

  /** Ends; what is being sent is waited for, for some seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sending.close()
  }

  async #sendAll(): Promise<void> {
    const { records, clock, log } = this.#options
    try {
      for (const row of await takeDocumentEmails(records, clock.now())) {
        if (this.#isClosed) return
        await this.#send(row)
      }
    } catch (error) {
      if (!this.#isClosed) log.error({ error }, 'emails of documents could not be sent')
    }
  }

  async #send(row: DocumentEmailRow): Promise<void> {
    const { records, clock, log } = this.#options
    try {
      if (await this.#deliver(row)) return
      log.warn({ document: row.document_id }, 'the email of a document waits for the mail server')
    } catch (error) {
      log.error({ error, document: row.document_id }, 'the email of a document could not be made')
    }
    await postponeDocumentEmail(records, row, clock.now())
  }

  /** Whether it has come to its end. */
  async #deliver(row: DocumentEmailRow): Promise<boolean> {
    const { records, mailer, printer, members, publicUrl, clock } = this.#options
    const language = chooseLanguage(await members.ownerLanguage(row.account_id))
    const composed = await this.#compose(row, language)
    const company = await currentCompany(records, row.account_id)
    const to = company?.details.email
    if (composed === undefined || to === undefined) {
      await endDocumentEmail(records, row, 'dropped', clock.now())
      return true
    }
    const { subject, text, document } = composed
    const isSent = await mailer.deliver({
      to,
      subject,
      text,
      // The same each time: a server that is sent it twice, because of a crash, can tell.
      messageId: `<${row.kind}.${row.document_id}@${publicUrl.hostname}>`,
      attachments: [
        {
          filename: `${documentName(document)}.pdf`,
          content: Buffer.from(await printDocument(records, printer, document)),
        },
      ],
    })
    if (isSent) await endDocumentEmail(records, row, 'sent', clock.now())
    return isSent
  }

  /** Undefined when there is nothing to tell any more. */
  async #compose(row: DocumentEmailRow, language: Language): Promise<Composed | undefined> {
    const { records, name: site, clock } = this.#options
    const texts = textsOf(language).documentEmails
    if (row.kind === 'closing-issued') {
      const { document } = storedClosing(await findClosing(records, row.document_id))
      const said = {
        site,
        document: documentName(document),
        amount: money(document.amount * microsPerKopeck, language),
        link: this.#link(`/documents?year=${document.date.slice(0, 4)}`),
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
      amount: money(amount * microsPerKopeck, language),
      payUntil: shortDay(document.payUntil),
      purpose,
      link: this.#link(`/invoices/${token}`),
    }
    const { subject, text } = texts[row.kind]
    return { subject: subject(said), text: text(said), document }
  }

  #link(path: string): string {
    return new URL(path, this.#options.publicUrl).href
  }
}

/** Whether an invoice is still to be paid. */
function isOpen(state: string): boolean {
  return state === 'open' || state === 'overdue' || state === 'part-paid'
}
