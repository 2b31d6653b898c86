/** Excel reads the file as UTF-8 only with it. */
export const byteOrderMark = '\uFEFF'

/**
 * Spreadsheets run what begins so, even behind the quotes; full-width signs are read as the plain ones. One that
 * splits at commas takes no notice of quotes behind a semicolon, and finds a beginning behind every comma.
 */
const formula = /[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.source
const beginning = new RegExp(`^(?=${formula}|[\\t\\r\\n])`)
const behindSeparator = new RegExp(`([,;\\t\\r\\n])(?=${formula})`, 'g')

/** A text as a cell: never a formula, and never more than one cell. */
export function csvCell(text: string): string {
  const safe = text.replaceAll(behindSeparator, "$1'").replace(beginning, "'")
  return /[,;"\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A cell that is no text: an amount, which a formula's sign does not make one. */
export interface CsvNumber {
  readonly number: string
}

/** A table as Excel reads it in Russia: semicolons, commas in decimals, UTF-8 with a mark. */
export function csvTable(rows: readonly (readonly (string | CsvNumber)[])[]): string {
  const lines = rows.map(row =>
    row.map(cell => (typeof cell === 'string' ? csvCell(cell) : cell.number.replace('.', ','))).join(';'),
  )
  return `${byteOrderMark}${lines.join('\r\n')}\r\n`
}

/** The head of a response that a browser keeps as a table: `charges-2026-11-20.csv`. */
export function csvHeaders(name: string, day: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}-${day}.csv"`,
  }
}
