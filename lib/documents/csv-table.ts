/** Excel reads a file as UTF-8 only with this mark at its beginning. */
export const byteOrderMark = '\uFEFF'

/**
 * Spreadsheets execute a cell that begins with one of these characters, even in quotes; full-width signs are read as
 * the plain ones. A spreadsheet that splits at commas ignores quotes after a semicolon, and sees a new cell after
 * every comma.
 */
const formula = /[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.source
const beginning = new RegExp(`^(?=${formula}|[\\t\\r\\n])`)
const behindSeparator = new RegExp(`([,;\\t\\r\\n])(?=${formula})`, 'g')

/** A text as a cell: never a formula, and never more than one cell. */
export function csvCell(text: string): string {
  const safe = text.replaceAll(behindSeparator, "$1'").replace(beginning, "'")
  return /[,;"\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A cell with an amount; a minus sign does not make it a formula. */
export interface CsvNumber {
  readonly number: string
}

/** A row for Excel in a Russian locale: semicolons, and commas in decimals. */
export function csvRow(row: readonly (string | CsvNumber)[]): string {
  const cells = row.map(cell => (typeof cell === 'string' ? csvCell(cell) : cell.number.replace('.', ',')))
  return `${cells.join(';')}\r\n`
}

/** A table of such rows. */
export function csvTable(rows: readonly (readonly (string | CsvNumber)[])[]): string {
  return byteOrderMark + rows.map(csvRow).join('')
}

/** Headers of a response that a browser saves as a CSV file: `charges-2026-11-20.csv`. */
export function csvHeaders(name: string, day: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}-${day}.csv"`,
  }
}
