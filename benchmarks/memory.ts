import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { cores, startNode } from './bench/process.ts'
import { measureMemory } from './streams/measure-memory.ts'

// The memory of many connections: 5,000 that stream a frame a second, and 10,000 idle ones beside them. It exits with 1
// when a bound is exceeded or a stream fails. `--idle 10000`, `--streams 5000`.

/** The idle ones and the streams together. */
const megabytesMax = 600
/** A stream, both of its connections included, over an idle connection. */
const kilobytesAStreamMax = 64

const say = (line: string): void => void writeSync(1, `${line}\n`)

function option(name: string, otherwise: number): number {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : Number(process.argv[index + 1])
}

const wanted = { idle: option('idle', 10_000), streams: option('streams', 5000) }
const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')

const load = await startNode(join(import.meta.dirname, 'streams/stream-load.ts'), [], cores.around)
const upstream = await startNode(join(import.meta.dirname, 'streams/stream-upstream.ts'), [], cores.around)
try {
  const found = await measureMemory(load, upstream, wanted, say)
  const { idle, streams, failed } = found
  if (idle < wanted.idle)
    say(`A process may have too few files open here for ${wanted.idle} idle ones beside them.`)
  const megabytes = (bytes: number): number => bytes / 1_048_576
  const eachStream = (found.streamsBytes - found.atFirstBytes) / streams / 1024
  const eachIdle = (found.allBytes - found.streamsBytes) / idle / 1024
  const peak = megabytes(found.peakBytes)
  say(`${megabytes(found.atFirstBytes).toFixed(0)} MB at first`)
  say(
    `${megabytes(found.streamsBytes).toFixed(0)} MB with ${streams} streams: ${eachStream.toFixed(1)} KB each`,
  )
  say(`${megabytes(found.allBytes).toFixed(0)} MB with ${idle} idle ones too: ${eachIdle.toFixed(1)} KB each`)
  say(
    `a stream over an idle connection: ${(eachStream - eachIdle).toFixed(1)} KB, at most ${kilobytesAStreamMax}`,
  )
  say(`${peak.toFixed(0)} MB at most while all were open, at most ${megabytesMax}; ${failed} streams failed`)
  const isKept = peak <= megabytesMax && eachStream - eachIdle <= kilobytesAStreamMax && failed === 0
  process.exitCode = isKept ? 0 : 1
} finally {
  await load.stop()
  await upstream.stop()
}
