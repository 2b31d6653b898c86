/** What was asked of companies, invoices, transfers or closing documents cannot be done; the message says why. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}
