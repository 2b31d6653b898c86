/** What moves a terminal's cursor, or turns the direction of a line: names of models and keys are customers'. */
const unseen = /[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** Columns as wide as they need to be, two spaces apart; numbers to the right. */
export function formatTable(
  rows: readonly Readonly<Record<string, string>>[],
  columns: Readonly<Record<string, 'left' | 'right'>>,
): string {
  const names = Object.keys(columns)
  const cellOf = (row: Readonly<Record<string, string>>, name: string): string =>
    (row[name] ?? '').replaceAll(unseen, '\uFFFD')
  const widths = names.map(name => Math.max(name.length, ...rows.map(row => cellOf(row, name).length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => {
        const width = widths[index] ?? 0
        return columns[names[index] ?? ''] === 'right' ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const lines = [
    line(names.map(name => name.toUpperCase())),
    ...rows.map(row => line(names.map(name => cellOf(row, name)))),
  ]
  return `${lines.join('\n')}\n`
}
