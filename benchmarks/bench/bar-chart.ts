const rowHeight = 28
const labelWidth = 190
const barWidth = 420

/** Bars with their figures, as SVG; readable in light and dark. */
export function barChart(title: string, values: readonly (readonly [name: string, value: number])[]): string {
  const most = Math.max(1, ...values.map(([, value]) => value))
  const rows = values.map(([name, value], index) => {
    const y = 40 + index * rowHeight
    const width = Math.max(1, (value / most) * barWidth)
    const color = name.startsWith('gateway') ? '#2563eb' : '#94a3b8'
    return [
      `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${labelWidth}" y="${y + 3}" width="${width.toFixed(1)}" height="16" rx="3" fill="${color}"/>`,
      `<text x="${labelWidth + width + 6}" y="${y + 15}">${value.toFixed(value < 10 ? 1 : 0)}</text>`,
    ].join('')
  })
  const height = 52 + values.length * rowHeight
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${labelWidth + barWidth + 90} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    '<style>text{font:13px system-ui,sans-serif;fill:#475569}@media(prefers-color-scheme:dark){text{fill:#cbd5e1}}</style>',
    `<text x="8" y="22" font-weight="600">${escaped(title)}</text>`,
    ...rows,
    '</svg>\n',
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
