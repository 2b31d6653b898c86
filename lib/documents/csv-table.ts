/** Excel reads the file as UTF-8 only with it, at its beginning. */
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

/** A row as Excel reads it in Russia: semicolons, and commas in decimals. */
export function csvRow(row: readonly (string | CsvNumber)[]): string {
  const cells = row.map(cell => (typeof cell === 'string' ? csvCell(cell) : cell.number.replace('.', ',')))
  return `${cells.join(';')}\r\n`
}

/** A whole table of such rows. */
export function csvTable(rows: readonly (readonly (string | CsvNumber)[])[]): string {
  return byteOrderMark + rows.map(csvRow).join('')
}

/** The head of a response that a browser keeps as a table: `charges-2026-11-20.csv`. */
export function csvHeaders(name: string, day: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}-${day}.csv"`,
  }
}
