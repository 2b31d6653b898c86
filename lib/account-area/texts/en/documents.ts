import type * as russian from '../ru/documents.ts'

/** Invoices of companies. */
export const invoices: typeof russian.invoices = {
  title: 'Invoice for companies',
  plural: 'Invoices',
  forCompanies:
    'Legal entities and sole proprietors pay by bank transfer and receive closing documents. Enter the details of your company to make an invoice.',
  setCompany: 'Enter company details',
  buyer: (name, inn) => `Buyer: ${name}, INN ${inn}.`,
  change: 'Change the details',
  make: 'Make an invoice',
  all: 'All invoices and documents',
  numbered: (number, day) => `Invoice ${number} of ${day}`,
  state: 'State',
  states: {
    open: 'waits for payment',
    overdue: 'overdue',
    'part-paid': 'paid in part',
    paid: 'paid',
    overpaid: 'paid in excess',
    cancelled: 'cancelled',
  },
  amount: 'Amount',
  paid: 'Paid',
  payUntil: 'Pay until',
  seller: 'Payee',
  payer: 'Payer',
  purpose: 'Purpose of the payment',
  download: 'Download the PDF',
  emailed: email => `The invoice is also sent to ${email}.`,
  link: 'Link for whoever pays',
  linkHint: 'It shows the invoice without signing in, and no other page.',
  cancel: 'Cancel the invoice',
}

/** The page of documents. */
export const documents: typeof russian.documents = {
  title: 'Documents',
  forCompanies:
    'Invoices, closing documents and the reconciliation statement are here when a company tops up the balance. Enter its details first.',
  years: 'Years',
  closing: 'Acts and universal transfer documents',
  noClosing: 'No documents this year. They come on the first day of a month, for the month before.',
  noInvoices: 'No invoices this year.',
  document: 'Document',
  tax: 'VAT included',
  noTax: 'no VAT',
  states: { issued: 'issued', sent: 'sent', signed: 'signed' },
  reconciliation: 'Reconciliation statement',
  reconciliationHint: 'For any period, by our books.',
  from: 'From',
  to: 'To',
  make: 'Download the statement',
  company: 'Company details',
}

/** Details of a company. */
export const company: typeof russian.company = {
  title: 'Company',
  heading: 'Company details',
  hint: 'For invoices and closing documents, which are in Russian. Earlier documents keep earlier details.',
  kind: 'Kind',
  kinds: { company: 'Legal entity', sole: 'Sole proprietor (ИП)' },
  name: 'Name of the company, or full name of the sole proprietor',
  nameHint: 'As registered: ООО «Ромашка» or ИП Иванов Иван Иванович.',
  inn: 'INN',
  kpp: 'KPP',
  kppHint: 'Of legal entities only.',
  ogrn: 'OGRN or OGRNIP',
  address: 'Legal address',
  addressHint: 'With the postal code, as registered.',
  email: 'Email for documents',
  more: 'Bank, signer, electronic documents: if your documents need them',
  bankName: 'Bank',
  bic: 'BIC',
  account: 'Settlement account',
  correspondentAccount: 'Correspondent account',
  signerName: 'Full name of the signer',
  signerPosition: 'Position',
  ediId: 'Id for electronic documents',
  ediIdHint: 'From your operator of electronic documents, such as 2BM-7707083893-773601001-20260101.',
  save: 'Save the details',
  problems: {
    missing: 'Fill in this field.',
    tooLong: (found, max) => `${found} characters; at most ${max} fit.`,
    unprintable: (character, position) =>
      `Character ${position} (${character}) cannot be printed. Remove it.`,
    length: (found, expected) => `${found} digits; there must be ${expected}.`,
    character: (found, position) => `“${found}” in place ${position}, where a digit must be.`,
    prefix: (found, expected) => `Begins with ${found}; it must begin with ${expected}.`,
    checkDigit: (position, found, expected) =>
      `Digit ${position} is ${found}, and by the others it must be ${expected}. Compare the number with its document.`,
    personName: 'Enter surname, name and patronymic, such as Иванов Иван Иванович.',
    ediId: 'This is no id for electronic documents. An example: 2BM-7707083893-773601001-20260101.',
    unexpected: 'A sole proprietor has no KPP: clear this field.',
    or: ' or ',
  },
}
