import type { Loader } from './loader.ts'
import {
  atRate,
  bytesPerStream,
  firstByte,
  latencyAlone,
  manyStreams,
  memory,
  saturate,
  type Effort,
  type Memory,
  type Quantiles,
  type Saturation,
  type Streams,
} from './scenarios.ts'
import { measureScaling, type Scaling } from './scaling.ts'
import { gateway, nginx, portkey, relay, type Contender, type Target } from './targets.ts'

export type { Effort }

/** Everything that one run measured. */
export interface Results {
  readonly saturation: Readonly<Record<string, Saturation>>
  readonly largePrompts: Readonly<Record<string, Saturation>>
  readonly alone: Readonly<Record<string, Quantiles>>
  readonly firstByte: Readonly<Record<string, Quantiles>>
  /** By name, at 50 and at 80 percent of what each can do. */
  readonly atRate: Readonly<Record<string, { readonly half: Quantiles; readonly most: Quantiles }>>
  readonly streams: Readonly<Record<string, Streams>>
  readonly memory: Readonly<Record<string, Memory>>
  readonly startMs: Readonly<Record<string, number>>
  readonly scaling: Readonly<Record<string, Scaling>>
  readonly absent: readonly string[]
}

interface Run {
  readonly loader: Loader
  readonly upstreamPort: number
  readonly upstream: Target
  readonly effort: Effort
  readonly say: (line: string) => void
}

const allPlugins = [
  'auth',
  'model-router',
  'size-limit',
  {
    'rate-limit': {
      requestsPerMinute: 1_000_000_000,
      tokensPerMinute: 1_000_000_000,
      concurrentRequests: 100_000,
    },
  },
  'upstream-proxy',
  'usage-tap',
]

/** Whose memory and streams are looked at: what people would run, and ours. */
const looksAt = (name: string): boolean => name.startsWith('gateway') || name === 'Portkey'

function contenders(port: number): readonly Contender[] {
  return [
    nginx(port),
    relay('bare relay', 'bare-relay.ts', port),
    relay('http-proxy-3', 'http-proxy-relay.ts', port),
    portkey(port),
    gateway('gateway strict', port),
    gateway('gateway relaxed', port, { durability: 'relaxed' }),
    gateway('gateway all plugins', port, { plugins: allPlugins }),
  ]
}

/** Starts everything, measures by turns, stops everything. */
export async function runAll(run: Run): Promise<Results> {
  const absent: string[] = []
  const measured = await measureContenders(run, absent)
  // By themselves: nothing is pinned then, and all cores are theirs.
  run.say('one worker and two')
  return { ...measured, absent, scaling: await measureScaling(run.loader, run.upstreamPort, run.effort) }
}

async function measureContenders(run: Run, absent: string[]): Promise<Omit<Results, 'absent' | 'scaling'>> {
  const targets: Target[] = []
  try {
    for (const contender of contenders(run.upstreamPort)) {
      const started = await contender()
      if (typeof started === 'string') absent.push(started)
      else targets.push(started)
    }
    absent.forEach(reason => run.say(`left out: ${reason}`))
    return await measureAll(run, targets)
  } finally {
    for (const target of targets) await target.stop()
  }
}

async function measureAll(
  run: Run,
  targets: readonly Target[],
): Promise<Omit<Results, 'absent' | 'scaling'>> {
  const { loader, effort, say, upstream } = run
  const idle = new Map(targets.map(target => [target.name, target.rssBytes()]))
  const looked = targets.filter(({ name }) => looksAt(name))
  const everybody = [upstream, ...targets]
  const streamBytes = await ofEach(looked, target => {
    say(`${target.name}: memory of open streams`)
    return bytesPerStream(loader, target, effort.streams * 2)
  })
  say('one request at a time')
  const alone = await latencyAlone(loader, everybody, effort)
  say('the first byte of a stream')
  const first = await firstByte(loader, everybody, effort)
  say('as much as each can')
  const saturation = await saturate(loader, everybody, effort)
  say('prompts of 300 KB')
  const fewer = { ...effort, rounds: Math.ceil(effort.rounds / 2) }
  const largePrompts = await saturate(loader, everybody, fewer, 300_000)
  const atRates = await ofEach(everybody, async target => {
    const most = saturation.get(target.name)?.requestsPerSecond ?? 0
    say(`${target.name} at a half and at four fifths of its most`)
    return {
      half: await atRate(loader, target, most * 0.5, effort),
      most: await atRate(loader, target, most * 0.8, effort),
    }
  })
  const streams = await ofEach(everybody, target => {
    say(`${target.name}: ${effort.streams} streams`)
    return manyStreams(loader, target, effort)
  })
  const memories = await ofEach(looked, target => {
    say(`${target.name}: memory`)
    const before = { idleBytes: idle.get(target.name) ?? 0, streamBytes: streamBytes[target.name] ?? 0 }
    return memory(loader, target, before, effort)
  })
  return {
    saturation: Object.fromEntries(saturation),
    largePrompts: Object.fromEntries(largePrompts),
    alone: Object.fromEntries(alone),
    firstByte: Object.fromEntries(first),
    atRate: atRates,
    streams,
    memory: memories,
    startMs: Object.fromEntries(
      targets.flatMap(({ name, startMs }) => (startMs === undefined ? [] : [[name, startMs]])),
    ),
  }
}

/** Measures one after the other, by name. */
async function ofEach<T>(
  targets: readonly Target[],
  measureOne: (target: Target) => Promise<T>,
): Promise<Record<string, T>> {
  const measured: Record<string, T> = {}
  for (const target of targets) measured[target.name] = await measureOne(target)
  return measured
}
