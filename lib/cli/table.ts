/** Columns as wide as they need to be, two spaces apart; numbers to the right. */
export function formatTable(
  rows: readonly Readonly<Record<string, string>>[],
  columns: Readonly<Record<string, 'left' | 'right'>>,
): string {
  const names = Object.keys(columns)
  const widths = names.map(name => Math.max(name.length, ...rows.map(row => (row[name] ?? '').length)))
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
    ...rows.map(row => line(names.map(name => row[name] ?? ''))),
  ]
  return `${lines.join('\n')}\n`
}

/** A time for people: UTC, to the second. */
export function formatTime(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')
}
