import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../lib/platform/clock.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { chargeRate } from '../ledger/charge-rate.ts'
import type { ChargeRate } from '../ledger/charge-rate.ts'
import type { Loader } from './loader.ts'
import { atRate, firstByte, latencyAlone, manyStreams, memory, openStreams, saturate } from './scenarios.ts'
import type { AtRate, Effort, Memory, Quantiles, Saturation, Streams } from './scenarios.ts'
import { gateway, nginx, portkey, relay } from './targets.ts'
import type { Contender, Target } from './targets.ts'
import { RawConnection } from './raw-connection.ts'
import { requestTo } from './requests.ts'

/** The measurements of the contenders between load and upstream, by name. */
interface OfContenders {
  readonly saturation: Readonly<Record<string, Saturation>>
  readonly largePrompts: Readonly<Record<string, Saturation>>
  readonly alone: Readonly<Record<string, Quantiles>>
  readonly firstByte: Readonly<Record<string, Quantiles>>
  /** At 50 and at 80 percent of each one's maximum. */
  readonly atRate: Readonly<Record<string, { readonly half: AtRate; readonly most: AtRate }>>
  readonly streams: Readonly<Record<string, Streams>>
  readonly memory: Readonly<Record<string, Memory>>
  readonly startMs: Readonly<Record<string, number>>
}

/** A gateway whose store has many keys. */
interface ManyKeys {
  readonly keys: number
  /** After its first response. */
  readonly bytes: number
  /** From its start until that response. */
  readonly startMs: number
}

const patienceMs = 120_000

/** From a target's start until its first response, in milliseconds. */
async function firstAnswerMs(target: Pick<Target, 'port' | 'headers' | 'beganMs'>): Promise<number> {
  const request = Buffer.from(requestTo(target), 'latin1')
  let problem: unknown
  while (performance.now() - target.beganMs < patienceMs) {
    const connection = new RawConnection(target.port)
    try {
      const { status, endMs } = await connection.ask(request)
      if (status === 200) return endMs - target.beganMs
      problem = new Error(`It answered with ${status}.`)
    } catch (error) {
      problem = error
    } finally {
      connection.close()
    }
    await delay(5)
  }
  throw new Error('The first request was not answered.', { cause: problem })
}

/** A gateway of its own, on a store that was filled before. */
async function measureManyKeys(upstreamPort: number, keys: number): Promise<ManyKeys> {
  const target = await gateway('gateway, many keys', upstreamPort, { moreKeys: keys - 1 })()
  try {
    const startMs = await firstAnswerMs(target)
    return { keys, bytes: target.rssBytes(), startMs }
  } finally {
    await target.stop()
  }
}

/** All measurements of a run. */
export interface Results extends OfContenders {
  readonly effort: Effort
  readonly absent: readonly string[]
  readonly manyKeys: ManyKeys
  readonly charges: ChargeRate
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

/** The contenders whose memory is measured: those that users would run, and ours. */
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
  const { upstreamPort, effort, say } = run
  const absent: string[] = []
  const ofContenders = await measureContenders(run, absent)
  say('the ledger by itself')
  const charges = await chargeRate({
    open: folder => openSqliteStore({ file: join(folder, 'g.db'), durability: 'strict', clock: systemClock }),
    place: tmpdir(),
    clients: 512,
    seconds: effort.seconds,
  })
  say(`${effort.keys} keys`)
  const manyKeys = await measureManyKeys(upstreamPort, effort.keys)
  return { effort, absent, ...ofContenders, charges, manyKeys }
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
