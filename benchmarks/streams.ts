import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { canPin, cores, startNode, type Measured } from './bench/process.ts'
import { median } from './bench/scenarios.ts'
import { nginx, startAll, type Target } from './bench/targets.ts'
import { formats } from './streams/frames.ts'
import { measureAllocations } from './streams/measure-allocations.ts'
import { measureStreams, type StreamCost } from './streams/measure-streams.ts'
import { streamRequest } from './streams/stream-request.ts'
import { bareRelay, makeCertificate, streamGateway } from './streams/stream-targets.ts'
import type { StreamWishes } from './streams/wishes.ts'

// The cost of relaying a frame of a stream, beside nginx and a bare relay, in turns within one run. `--quick` measures
// the rows with targets, `--only TEXT` those whose name contains the text, `--turns 5`, `--seconds 4`.
// `--allocations` measures what a frame allocates.

interface Row extends StreamWishes {
  readonly streams: number
  readonly isTls?: boolean
}

const usual = { format: 'chat', frameBytes: 230, joined: 1, pieces: 1 } as const
const aimed: readonly Row[] = [
  { ...usual, streams: 128, framesPerSecond: 48 },
  { ...usual, format: 'restored', streams: 128, framesPerSecond: 48 },
  { ...usual, streams: 512, framesPerSecond: 24 },
  { ...usual, format: 'restored', streams: 512, framesPerSecond: 24 },
]
const others: readonly Row[] = [
  { ...usual, streams: 64, framesPerSecond: 48 },
  { ...usual, streams: 2048, framesPerSecond: 4 },
  ...formats.slice(2).map(format => ({ ...usual, format, streams: 128, framesPerSecond: 48 })),
  { ...usual, frameBytes: 50, streams: 128, framesPerSecond: 48 },
  { ...usual, frameBytes: 2048, streams: 128, framesPerSecond: 48 },
  { ...usual, frameBytes: 8192, streams: 128, framesPerSecond: 24 },
  { ...usual, joined: 4, streams: 128, framesPerSecond: 96 },
  { ...usual, pieces: 3, streams: 128, framesPerSecond: 24 },
  { ...usual, isTls: true, streams: 128, framesPerSecond: 48 },
]

const say = (line: string): void => void writeSync(1, `${line}\n`)

function option(name: string): string | undefined {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? undefined : process.argv[index + 1]
}

const upstreamProgram = join(import.meta.dirname, 'streams/stream-upstream.ts')
const turns = Number(option('turns') ?? 5)
const seconds = Number(option('seconds') ?? 4)

function nameOf({ format, streams, framesPerSecond, frameBytes, joined, pieces, isTls }: Row): string {
  const shape = [
    ...(frameBytes === usual.frameBytes ? [] : [`${frameBytes} bytes`]),
    ...(joined === 1 ? [] : [`${joined} in one read`]),
    ...(pieces === 1 ? [] : [`in ${pieces} pieces`]),
    ...(isTls === true ? ['TLS on both sides'] : []),
  ]
  return [`${format}, ${streams} x ${framesPerSecond}/s`, ...shape].join(', ')
}

interface Line {
  readonly target: string
  readonly cost: StreamCost
  /** As a multiple of the bare relay's, from adjacent turns. */
  readonly ratio: number
}

/** All of them in turns, so that a slow minute affects all. */
async function measureRow(
  load: Measured,
  upstream: Measured,
  targets: readonly Target[],
  row: Row,
): Promise<readonly Line[]> {
  const costs = new Map<Target, StreamCost[]>(targets.map(target => [target, []]))
  // The first turn is for the compiler.
  for (let turn = -1; turn < turns; turn++) {
    for (const target of targets) {
      const request = streamRequest(target, row)
      const isTls = row.isTls === true
      const cost = await measureStreams(load, upstream, {
        target,
        isTls,
        request,
        streams: row.streams,
        seconds,
      })
      if (turn >= 0) costs.get(target)?.push(cost)
    }
  }
  const bare = costs.get(targets.find(({ name }) => name === 'bare relay') as Target) as StreamCost[]
  return targets.map(target => {
    const own = costs.get(target) as StreamCost[]
    const of = (name: keyof StreamCost): number => median(own.map(cost => cost[name]))
    const sum = (name: 'lost' | 'failed'): number => own.reduce((total, cost) => total + cost[name], 0)
    return {
      target: target.name,
      ratio: median(
        own.map((cost, turn) => cost.cpuMicrosAFrame / (bare[turn] as StreamCost).cpuMicrosAFrame),
      ),
      cost: {
        cpuMicrosAFrame: of('cpuMicrosAFrame'),
        lateP50Ms: of('lateP50Ms'),
        lateP99Ms: of('lateP99Ms'),
        kilobytesAStream: of('kilobytesAStream'),
        lost: sum('lost'),
        failed: sum('failed'),
      },
    }
  })
}

function print(row: Row, lines: readonly Line[]): void {
  say(`\n${nameOf(row)}`)
  for (const { target, cost, ratio } of lines) {
    const figures = [
      `${cost.cpuMicrosAFrame.toFixed(1).padStart(6)} µs a frame`,
      `${ratio.toFixed(2)} x bare`,
      `late p50 ${cost.lateP50Ms.toFixed(2)} p99 ${cost.lateP99Ms.toFixed(2)} ms`,
      `${cost.kilobytesAStream.toFixed(0)} KB a stream`,
      `${cost.lost} lost`,
      ...(cost.failed > 0 ? [`${cost.failed} FAILED`] : []),
    ]
    say(`  ${target.padEnd(11)}${figures.join(', ')}`)
  }
}

/** The rows of one kind of connection, for which targets and upstream are started once. */
async function measureRows(load: Measured, rows: readonly Row[], isTls: boolean): Promise<void> {
  if (rows.length === 0) return
  const tls = isTls ? makeCertificate() : undefined
  if (isTls && tls === undefined) {
    say('not measured over TLS: there is no openssl here')
    return
  }
  const upstream = await startNode(
    upstreamProgram,
    tls === undefined ? [] : [tls.cert, tls.key],
    cores.around,
  )
  const targets = await startAll(say, [
    ...(isTls ? [] : [nginx(upstream.port)]),
    bareRelay(upstream.port, tls),
    streamGateway(upstream.port, tls),
  ])
  try {
    for (const row of rows) print(row, await measureRow(load, upstream, targets, row))
  } finally {
    for (const target of targets) await target.stop()
    await upstream.stop()
  }
}

async function printAllocations(load: Measured, upstream: Measured & { port: number }): Promise<void> {
  for (const format of formats) {
    const { frames, owners } = await measureAllocations(load, upstream, {
      ...usual,
      format,
      framesPerSecond: 48,
    })
    const all = owners.reduce((sum, [, bytes]) => sum + bytes, 0)
    say(`\n${format}: ${all.toFixed(0)} bytes of JavaScript's heap a frame, of ${frames} frames`)
    for (const [owner, bytes] of owners.filter(each => each[1] >= 1))
      say(`  ${bytes.toFixed(0).padStart(5)}  ${owner}`)
  }
}

const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')
if (!canPin) say('not pinned: there is no taskset here, or not both cores')

const only = option('only')
const all = process.argv.includes('--quick') ? aimed : [...aimed, ...others]
const rows = only === undefined ? all : all.filter(row => nameOf(row).includes(only))
const load = await startNode(join(import.meta.dirname, 'streams/stream-load.ts'), [], cores.around)
const isSampled = process.argv.includes('--allocations')
try {
  if (isSampled) {
    const upstream = await startNode(upstreamProgram, [], cores.around)
    await printAllocations(load, upstream)
    await upstream.stop()
  }
  for (const isTls of isSampled ? [] : [false, true]) {
    await measureRows(
      load,
      rows.filter(row => (row.isTls === true) === isTls),
      isTls,
    )
  }
} finally {
  await load.stop()
}
