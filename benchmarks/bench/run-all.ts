import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../lib/platform/clock.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { chargeRate, type ChargeRate } from '../ledger/charge-rate.ts'
import { firstAnswerMs } from './first-answer.ts'
import type { Loader } from './loader.ts'
import { measureManyKeys, type ManyKeys } from './many-keys.ts'
import { measureScaling, type Scaling } from './scaling.ts'
import {
  atRate,
  firstByte,
  latencyAlone,
  manyStreams,
  memory,
  openStreams,
  saturate,
  type AtRate,
  type Effort,
  type Memory,
  type Quantiles,
  type Saturation,
  type Streams,
} from './scenarios.ts'
import { gateway, nginx, portkey, relay, type Contender, type Target } from './targets.ts'

/** What was measured of those that stand between load and upstream, by name. */
interface OfContenders {
  readonly saturation: Readonly<Record<string, Saturation>>
  readonly largePrompts: Readonly<Record<string, Saturation>>
  readonly alone: Readonly<Record<string, Quantiles>>
  readonly firstByte: Readonly<Record<string, Quantiles>>
  /** At 50 and at 80 percent of what each can do. */
  readonly atRate: Readonly<Record<string, { readonly half: AtRate; readonly most: AtRate }>>
  readonly streams: Readonly<Record<string, Streams>>
  readonly memory: Readonly<Record<string, Memory>>
  readonly startMs: Readonly<Record<string, number>>
}

/** Everything that one run measured. */
export interface Results extends OfContenders {
  readonly effort: Effort
  readonly absent: readonly string[]
  readonly manyKeys: ManyKeys
  readonly charges: ChargeRate
  readonly scaling: Readonly<Record<string, Scaling>>
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

/** Whose memory is looked at: what people would run, and ours. */
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
  const { loader, upstreamPort, effort, say } = run
  const absent: string[] = []
  const ofContenders = await measureContenders(run, absent)
  // By themselves: nothing is pinned then, and all cores are theirs.
  say('one worker and two')
  const scaling = await measureScaling(loader, upstreamPort, effort)
  say('the ledger by itself')
  const charges = await chargeRate({
    open: folder => openSqliteStore({ file: join(folder, 'g.db'), durability: 'strict', clock: systemClock }),
    place: tmpdir(),
    clients: 512,
    seconds: effort.seconds,
  })
  say(`${effort.keys} keys`)
  const manyKeys = await measureManyKeys(upstreamPort, effort.keys)
  return { effort, absent, ...ofContenders, scaling, charges, manyKeys }
}

async function measureContenders(run: Run, absent: string[]): Promise<OfContenders> {
  const targets: Target[] = []
  const startMs: Record<string, number> = {}
  try {
    for (const contender of contenders(run.upstreamPort)) {
      const started = await contender()
      if (typeof started === 'string') absent.push(started)
      else {
        targets.push(started)
        startMs[started.name] = await firstAnswerMs(started)
      }
    }
    absent.forEach(reason => run.say(`left out: ${reason}`))
    return { startMs, ...(await measureAll(run, targets)) }
  } finally {
    for (const target of targets) await target.stop()
  }
}

async function measureAll(run: Run, targets: readonly Target[]): Promise<Omit<OfContenders, 'startMs'>> {
  const { loader, effort, say, upstream } = run
  const looked = targets.filter(({ name }) => looksAt(name))
  const everybody = [upstream, ...targets]
  const before = await ofEach(looked, async target => {
    say(`${target.name}: memory of open streams`)
    return { idleBytes: target.rssBytes(), streams: await openStreams(loader, target, effort) }
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
  const atRates = await ofEach(targets, async target => {
    const most = saturation.get(target.name)?.requestsPerSecond ?? 0
    say(`${target.name} at a half and at four fifths of its most`)
    const { seconds } = effort
    return {
      half: await atRate(loader, target, upstream, { rate: most * 0.5, seconds }),
      most: await atRate(loader, target, upstream, { rate: most * 0.8, seconds }),
    }
  })
  const streams = await ofEach(everybody, target => {
    say(`${target.name}: ${effort.streams} streams`)
    return manyStreams(loader, target, effort)
  })
  const memories = await ofEach(looked, target => {
    say(`${target.name}: memory`)
    return memory(loader, target, before[target.name] as (typeof before)[string], effort)
  })
  return {
    saturation: Object.fromEntries(saturation),
    largePrompts: Object.fromEntries(largePrompts),
    alone: Object.fromEntries(alone),
    firstByte: Object.fromEntries(first),
    atRate: atRates,
    streams,
    memory: memories,
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
