import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { barChart } from './bar-chart.ts'
import type { Results } from './run-all.ts'

interface ReportOptions {
  readonly folder: string
  readonly isPinned: boolean
  readonly isQuick: boolean
}

/** Writes report.md with its plots; returns its text. */
export function writeReport(results: Results, { folder, isPinned, isQuick }: ReportOptions): string {
  const text = [
    '# Benchmark',
    '',
    `${isQuick ? 'A quick run: the figures are rough. ' : ''}${isPinned ? 'Pinned: the measured process on one core, load and upstream on another.' : 'Nothing was pinned: there is no taskset here.'} ${results.absent.map(reason => `Left out: ${reason}.`).join(' ')}`,
    '',
    '## As much as each can do',
    '',
    saturationTable(results),
    '',
    '![CPU a request](cpu.svg)',
    '',
    '## Added latency',
    '',
    'One request at a time; then at half and at four fifths of what each can do, by a constant rate that stalls do not hold up.',
    '',
    latencyTable(results),
    '',
    '![Added latency](latency.svg)',
    '',
    '## Streams',
    '',
    streamTable(results),
    '',
    '## Memory and start',
    '',
    memoryTable(results),
    '',
    '## Workers',
    '',
    'Not pinned: the processes of the gateway may use every core, beside load and upstream.',
    '',
    scalingTable(results),
    '',
  ].join('\n')
  writeFileSync(join(folder, 'report.md'), text)
  const cpu = Object.entries(results.saturation).filter(([name]) => name !== 'direct')
  writeFileSync(
    join(folder, 'cpu.svg'),
    barChart(
      'CPU, microseconds a request',
      cpu.map(([name, { cpuMicros }]) => [name, cpuMicros]),
    ),
  )
  const direct = results.alone['direct']?.p50 ?? 0
  const latency = Object.entries(results.alone).filter(([name]) => name !== 'direct')
  writeFileSync(
    join(folder, 'latency.svg'),
    barChart(
      'Added latency, microseconds (p50)',
      latency.map(([name, { p50 }]) => [name, (p50 - direct) * 1000]),
    ),
  )
  return text
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

function saturationTable({ saturation, largePrompts }: Results): string {
  const nginx = saturation['nginx']
  const bare = saturation['bare relay']
  return table(
    ['', 'requests/s', 'x nginx', 'CPU µs', 'x nginx', 'x bare', 'p99 ms', '300 KB prompts/s', 'errors'],
    Object.entries(saturation).map(([name, each]) => [
      name,
      whole(each.requestsPerSecond),
      nginx === undefined ? '-' : (each.requestsPerSecond / nginx.requestsPerSecond).toFixed(2),
      each.cpuMicros.toFixed(1),
      nginx === undefined ? '-' : (each.cpuMicros / nginx.cpuMicros).toFixed(1),
      bare === undefined ? '-' : (each.cpuMicros / bare.cpuMicros).toFixed(2),
      each.p99Ms.toFixed(2),
      whole(largePrompts[name]?.requestsPerSecond ?? 0),
      whole(each.errors + (largePrompts[name]?.errors ?? 0)),
    ]),
  )
}

function scalingTable({ scaling }: Results): string {
  const one = Object.values(scaling)[0]
  return table(
    ['', 'requests/s', 'x one worker', 'CPU µs', 'cores used', 'of each process', 'errors'],
    Object.entries(scaling).map(([name, each]) => [
      name,
      whole(each.requestsPerSecond),
      (each.requestsPerSecond / (one?.requestsPerSecond ?? 1)).toFixed(2),
      each.cpuMicros.toFixed(1),
      each.coresUsed.toFixed(2),
      each.shares.map(share => `${whole(share * 100)} %`).join(', '),
      whole(each.errors),
    ]),
  )
}

function latencyTable({ alone, atRate }: Results): string {
  const direct = alone['direct']
  const micros = (ms: number): string => whole(ms * 1000)
  return table(
    ['µs', 'alone p50', 'p99', 'p99.9', 'at 50 % p50', 'p99', 'p99.9', 'at 80 % p50', 'p99', 'p99.9'],
    Object.entries(alone).map(([name, each]) => {
      const rates = atRate[name]
      const base = name === 'direct' || direct === undefined ? { p50: 0, p99: 0, p999: 0 } : direct
      return [
        name === 'direct' ? 'direct (whole)' : name,
        micros(each.p50 - base.p50),
        micros(each.p99 - base.p99),
        micros(each.p999 - base.p999),
        ...[rates?.half, rates?.most].flatMap(rate =>
          rate === undefined ? ['-', '-', '-'] : [micros(rate.p50), micros(rate.p99), micros(rate.p999)],
        ),
      ]
    }),
  )
}

function streamTable({ firstByte, streams }: Results): string {
  const direct = firstByte['direct'] ?? { p50: 0, p99: 0, p999: 0 }
  return table(
    [
      '',
      'first byte added p50 µs',
      'p99 µs',
      'streams',
      'frame p50 µs',
      'p99 µs',
      'lost frames',
      'of a core',
    ],
    Object.entries(streams).map(([name, each]) => {
      // Who answers no stream at all has no times to show.
      if (each.errors >= each.count) return [name, '-', '-', String(each.count), '-', '-', 'all', '-']
      const first = firstByte[name] ?? direct
      const base = name === 'direct' ? { p50: 0, p99: 0 } : direct
      return [
        name === 'direct' ? 'direct (whole)' : name,
        whole((first.p50 - base.p50) * 1000),
        whole((first.p99 - base.p99) * 1000),
        String(each.count),
        whole(each.frameMs.p50 * 1000),
        whole(each.frameMs.p99 * 1000),
        whole(each.lostFrames),
        `${whole(each.cpuShare * 100)} %`,
      ]
    }),
  )
}

function memoryTable({ memory, startMs }: Results): string {
  const megabytes = (bytes: number): string => whole(bytes / 1_048_576)
  const rows = Object.entries(memory)
  const [, first] = rows[0] ?? []
  return table(
    ['', 'idle MB', 'saturated MB', `${first?.connections ?? 0} connections MB`, 'KB a stream', 'start ms'],
    rows.map(([name, each]) => [
      name,
      megabytes(each.idleBytes),
      megabytes(each.saturatedBytes),
      megabytes(each.connectionsBytes),
      whole(each.streamBytes / 1024),
      startMs[name] === undefined ? '-' : whole(startMs[name]),
    ]),
  )
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
