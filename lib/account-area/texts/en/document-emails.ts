import type * as russian from '../ru/document-emails.ts'

/** Emails about invoices and closing documents, with the document attached. */
export const documentEmails: typeof russian.documentEmails = {
  'invoice-made': {
    subject: ({ document, amount, site }) => `${document}, ${amount}: ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nattached is an invoice (${document}) for ${amount} to top up the balance in ${site}. Pay it until ${payUntil}.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nThe closing document comes after the end of the month, for the services that were used.\n`,
  },
  'invoice-reminder': {
    subject: ({ document, payUntil, site }) => `Pay until ${payUntil}: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nthis is a reminder: an invoice of ${site} (${document}) is to be paid until ${payUntil}. Open: ${amount}. The invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days.\n`,
  },
  'invoice-overdue': {
    subject: ({ document, site }) => `Payment overdue: ${document}, ${site}`,
    text: ({ site, document, amount, payUntil, purpose, link }) =>
      `Hello,\n\nan invoice of ${site} (${document}) was to be paid until ${payUntil}. Open: ${amount}. It can still be paid; the invoice is attached.\n\nPurpose of the payment:\n${purpose}\n\nThe invoice and its state: ${link}\n\nIf you have paid already, there is nothing to do: a bank transfer takes up to three working days. If you do not need the invoice any more, cancel it on the page Balance.\n`,
  },
  'closing-issued': {
    subject: ({ document, site }) => `${document}: ${site}`,
    text: ({ site, document, amount, link, reason }) =>
      `Hello,\n\nattached is the closing document for the services of ${site}: ${document} for ${amount}.${reason === undefined ? '' : `\n\nIt corrects an earlier document. Reason: ${reason}.`}\n\nAll documents and the reconciliation statement: ${link}\n`,
  },
}
