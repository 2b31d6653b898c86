import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isReached, measures } from './measures.ts'
import type { Aim, Measure } from './measures.ts'
import type { Results } from './run-all.ts'

interface ReportOptions {
  readonly folder: string
  readonly isPinned: boolean
  readonly isQuick: boolean
}

const rowHeight = 28
const labelWidth = 190
const barWidth = 420

/** A bar chart with figures, as SVG; readable in light and dark. */
function barChart(title: string, values: readonly (readonly [name: string, value: number])[]): string {
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

/** Writes results.json, and report.md with its plots; returns the table for the console. */
export function writeReport(results: Results, { folder, isPinned, isQuick }: ReportOptions): string {
  const names = Object.keys(results.saturation)
  // Without nginx there is nothing to compare with it; a target that could not be checked is marked.
  const rows = measures(results).filter(
    row => row.aim !== undefined || names.some(name => row.of(name) !== undefined),
  )
  const tables = [measureTable(rows, names)]
  const rough = isQuick ? ['A quick run: the figures are rough.'] : []
  const pinning = isPinned
    ? 'Pinned: the measured process on one core, load and upstream on another.'
    : 'Nothing was pinned: there is no taskset here, or not both cores.'
  const absent = results.absent.map(reason => `Left out: ${reason}.`)
  const text = [
    '# Benchmark',
    '',
    [...rough, pinning, ...absent].join(' '),
    '',
    'Latencies are what is added to those of the upstream asked directly, whose own stand whole in the first column.',
    'At a rate: a constant one that stalls do not hold up, the upstream asked at the same rate.',
    '',
    ...tables,
    '',
    ...plots.flatMap(({ file, title }) => [`![${title}](${file})`, '']),
  ].join('\n')
  writeFileSync(join(folder, 'report.md'), text)
  for (const { file, title, row } of plots) {
    const measure = rows.find(each => each.name === row)
    const values = names.flatMap(name => {
      const value = name === 'direct' ? undefined : measure?.of(name)
      return value === undefined ? [] : [[name, value] as const]
    })
    writeFileSync(join(folder, file), barChart(title, values))
  }
  const table = rows.map(row => ({ ...row, ...figures(row, names) }))
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify({ table, results }, null, 2)}\n`)
  return tables.join('\n')
}

const plots = [
  { file: 'requests.svg', title: 'Requests a second at most', row: 'requests/s at most' },
  { file: 'cpu.svg', title: 'CPU, microseconds a request', row: 'CPU µs a request, all threads' },
  {
    file: 'latency.svg',
    title: 'Added latency, microseconds (p50)',
    row: 'added µs, one at a time, p50',
  },
  { file: 'memory.svg', title: 'Memory after saturation, MB', row: 'RSS after saturation, MB' },
  { file: 'start.svg', title: 'Start to first answer, ms', row: 'start to first answer, ms' },
] as const

/** The figures of a row, for programs. */
function figures(
  row: Measure,
  names: readonly string[],
): { readonly values: Record<string, number>; readonly isReached: Record<string, boolean> } {
  const defined = <T>(read: (name: string) => T | undefined): Record<string, T> =>
    Object.fromEntries(
      names.flatMap(name => {
        const value = read(name)
        return value === undefined ? [] : [[name, value]]
      }),
    )
  return { values: defined(name => row.of(name)), isReached: defined(name => isReached(row, name)) }
}

function measureTable(rows: readonly Measure[], names: readonly string[]): string {
  return table(
    ['', ...names.map(name => (name === 'direct' ? 'direct (whole)' : name)), 'aim', 'reached'],
    rows.map(row => [
      row.name,
      ...names.map(name => figure(row.of(name), row.digits)),
      row.aim === undefined ? '' : aimText(row.aim),
      row.aim === undefined ? '' : reachedText(row, names),
    ]),
  )
}

function aimText({ kind, strict, relaxed }: Aim): string {
  const sign = kind === 'at most' ? '≤' : '≥'
  const text = `${sign} ${strict.toLocaleString('en-US')}`
  return strict === relaxed ? text : `${text}, relaxed ${relaxed.toLocaleString('en-US')}`
}

/** One word where all gateways agree, otherwise one for each by its name. */
function reachedText(row: Measure, names: readonly string[]): string {
  const answers = names.flatMap(name => {
    const answer = isReached(row, name)
    return answer === undefined ? [] : [[name.replace('gateway ', ''), answer ? 'yes' : 'no'] as const]
  })
  const [first] = answers
  if (first === undefined) return 'not measured'
  if (answers.every(([, answer]) => answer === first[1])) return first[1]
  return answers.map(([name, answer]) => `${name} ${answer}`).join(', ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, index) => Math.max(cell.length, ...rows.map(row => row[index]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`
  return [
    line(head),
    line(widths.map((width, index) => (index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))),
    ...rows.map(line),
  ].join('\n')
}

function figure(value: number | undefined, digits = 0): string {
  if (value === undefined) return '-'
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
