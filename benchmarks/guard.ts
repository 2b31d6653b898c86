import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { startLoader, type Loader } from './bench/loader.ts'
import { canPin, cores, startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { gateway, relay, type GatewayTarget, type Target } from './bench/targets.ts'
import { bounds, calmShare } from './guard/bounds.ts'
import { guardFrames } from './guard/frame-guard.ts'
import { survivors } from './guard/survivors.ts'
import { percentile } from './percentile.ts'

// Whether a request has become more expensive: its CPU as a multiple of the bare relay's, in turns of short rounds, and
// how much of the young generation survives. Then the same for a frame. It exits with 1 when a bound is exceeded twice.

const connections = 32
/** After this many requests most of their code is compiled; a busy machine needs more rounds for them. */
const warmUpRequests = 30_000
const warmUpRoundsMax = 40
const warmUpSeconds = 1.3
const rounds = 9
const roundSeconds = 1.2

interface Watched {
  readonly target: GatewayTarget
  readonly bound: number
}

interface Verdict {
  readonly lines: readonly string[]
  readonly isKept: boolean
}

const say = (line: string): void => void writeSync(1, `${line}\n`)

interface Turn {
  /** Of all threads, per request. */
  readonly cpuMicros: number
  readonly requests: number
}

async function takeTurn(loader: Loader, target: Target, seconds: number): Promise<Turn> {
  const before = target.cpuMicros()
  const request = requestTo(target)
  const result = await loader.run({ kind: 'closed', port: target.port, request, connections, seconds })
  if (result.errors > 0) throw new Error(`${target.name}: ${result.errors} requests failed.`)
  const requests = result.ms.length
  return { cpuMicros: (target.cpuMicros() - before) / requests, requests }
}

/** The bare relay before and after each gateway, so that a ratio compares one and the same second. */
async function measureOnce(loader: Loader, bare: Target, watched: readonly Watched[]): Promise<Verdict> {
  const ratios = new Map<Target, number[]>(watched.map(({ target }) => [target, []]))
  const traceFrom = new Map(watched.map(({ target }) => [target, statSync(target.outputFile).size]))
  let { cpuMicros: bareMicros } = await takeTurn(loader, bare, roundSeconds)
  for (let round = 0; round < rounds; round++) {
    for (const { target } of watched) {
      const own = await takeTurn(loader, target, roundSeconds)
      const bareAfter = await takeTurn(loader, bare, roundSeconds)
      ratios.get(target)?.push((2 * own.cpuMicros) / (bareMicros + bareAfter.cpuMicros))
      bareMicros = bareAfter.cpuMicros
    }
  }
  const verdicts = watched.map(({ target, bound }) => {
    const of = (ratios.get(target) ?? []).toSorted((a, b) => a - b)
    const calm = percentile(of, calmShare)
    const { collections, percent, fullCollections } = survivors(
      readFileSync(target.outputFile, 'latin1'),
      traceFrom.get(target) ?? 0,
    )
    const range = `${of[0]?.toFixed(2)} to ${of.at(-1)?.toFixed(2)}`
    return {
      isKept: calm <= bound && percent <= bounds.survivorPercent,
      lines: [
        `${target.name}: CPU ${calm.toFixed(2)} x the bare relay in a calm turn (${range}), at most ${bound}`,
        `${target.name}: ${percent.toFixed(1)} % survive (${collections} young collections, ${fullCollections} full ones until now), at most ${bounds.survivorPercent} %`,
      ],
    }
  })
  return {
    lines: verdicts.flatMap(({ lines }) => lines),
    isKept: verdicts.every(({ isKept }) => isKept),
  }
}

async function guard(loader: Loader, bare: Target, watched: readonly Watched[]): Promise<boolean> {
  const targets = [bare, ...watched.map(({ target }) => target)]
  let fewestRequests = 0
  for (let round = 0; round < warmUpRoundsMax && fewestRequests < warmUpRequests; round++) {
    const turns: Turn[] = []
    for (const target of targets) turns.push(await takeTurn(loader, target, warmUpSeconds))
    fewestRequests += Math.min(...turns.map(({ requests }) => requests))
  }
  const first = await measureOnce(loader, bare, watched)
  first.lines.forEach(say)
  if (first.isKept) return true
  say('once more, in case it was the machine')
  const second = await measureOnce(loader, bare, watched)
  second.lines.forEach(say)
  return second.isKept
}

const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')
if (!canPin) say('not pinned: there is no taskset here, or not both cores')

async function guardRequests(): Promise<boolean> {
  const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], cores.around)
  const started: { stop(): Promise<void> }[] = [upstream]
  const nodeOptions = ['--trace-gc-nvp']
  try {
    const loader = await startLoader(cores.around)
    started.push(loader)
    const bare = await relay('bare relay', 'bare-relay.ts', upstream.port)()
    if (typeof bare === 'string') throw new Error(bare)
    started.push(bare)
    const strict = await gateway('strict', upstream.port, { nodeOptions })()
    started.push(strict)
    const relaxed = await gateway('relaxed', upstream.port, { nodeOptions, durability: 'relaxed' })()
    started.push(relaxed)
    return await guard(loader, bare, [
      { target: strict, bound: bounds.strict },
      { target: relaxed, bound: bounds.relaxed },
    ])
  } finally {
    for (const each of started.toReversed()) await each.stop()
  }
}

const areRequestsKept = await guardRequests()
const areFramesKept = await guardFrames(say)
const isKept = areRequestsKept && areFramesKept
say(isKept ? 'no bound is passed' : 'a bound is passed')
process.exitCode = isKept ? 0 : 1
