import type { Results } from './run-all.ts'
import type { AtRate, Quantiles } from './scenarios.ts'

/** The target for the gateway as shipped, and with relaxed durability. */
export interface Aim {
  readonly kind: 'at most' | 'at least'
  readonly strict: number
  readonly relaxed: number
}

/** One row of the table: a figure of each contender. */
export interface Measure {
  readonly name: string
  readonly digits: number
  readonly aim?: Aim
  /** Undefined where it was not measured. */
  readonly of: (name: string) => number | undefined
}

const mebibyte = 1_048_576
const quantileNames = [
  ['p50', 'p50'],
  ['p99', 'p99'],
  ['p999', 'p99.9'],
] as const

/** The rows, in the order of the table. */
export function measures(results: Results): readonly Measure[] {
  return [...ofThroughput(results), ...ofLatency(results), ...ofStreams(results), ...ofMemory(results)]
}

/** Whether the gateway with this name reaches the target; undefined where there is nothing to compare. */
export function isReached({ aim, of }: Measure, name: string): boolean | undefined {
  const value = of(name)
  if (aim === undefined || value === undefined || !name.startsWith('gateway')) return undefined
  const bound = name === 'gateway relaxed' ? aim.relaxed : aim.strict
  return aim.kind === 'at most' ? value <= bound : value >= bound
}

function atMost(strict: number, relaxed = strict): Aim {
  return { kind: 'at most', strict, relaxed }
}

function atLeast(strict: number, relaxed = strict): Aim {
  return { kind: 'at least', strict, relaxed }
}

function ofThroughput({ saturation, largePrompts, streams, charges }: Results): readonly Measure[] {
  const { nginx, 'bare relay': bare } = saturation
  const cpu = (name: string): number | undefined => saturation[name]?.cpuMicros
  return [
    { name: 'requests/s at most', digits: 0, of: name => saturation[name]?.requestsPerSecond },
    {
      name: 'requests/s, times nginx',
      digits: 2,
      aim: atLeast(0.35),
      of: name => ratio(saturation[name]?.requestsPerSecond, nginx?.requestsPerSecond),
    },
    { name: 'CPU µs a request, all threads', digits: 1, aim: atMost(55), of: cpu },
    { name: 'CPU, times nginx', digits: 2, of: name => ratio(cpu(name), nginx?.cpuMicros) },
    { name: 'CPU, times the bare relay', digits: 2, of: name => ratio(cpu(name), bare?.cpuMicros) },
    { name: 'p99 at most, ms', digits: 2, of: name => saturation[name]?.p99Ms },
    { name: 'prompts of 300 KB a second', digits: 0, of: name => largePrompts[name]?.requestsPerSecond },
    {
      name: `durable charges/s, ${charges.clients} clients`,
      digits: 0,
      aim: atLeast(20_000),
      of: onlyStrict(charges.chargesPerSecond),
    },
    { name: 'durable charge, p50 ms', digits: 2, of: onlyStrict(charges.lagP50Ms) },
    { name: 'durable charge, p99 ms', digits: 2, of: onlyStrict(charges.lagP99Ms) },
    {
      name: 'errors',
      digits: 0,
      of: name =>
        (saturation[name]?.errors ?? 0) + (largePrompts[name]?.errors ?? 0) + (streams[name]?.errors ?? 0),
    },
  ]
}

function ofLatency({ alone, atRate, firstByte }: Results): readonly Measure[] {
  const rate = (name: string, share: 'half' | 'most'): AtRate | undefined => atRate[name]?.[share]
  return [
    ...added('one at a time', name => alone[name], alone['direct'], { p50: atMost(450, 120) }),
    ...addedAtRate('at 50 % of its most', name => rate(name, 'half')),
    ...addedAtRate('at 80 % of its most', name => rate(name, 'most')),
    ...added('first byte of a stream', name => firstByte[name], firstByte['direct'], { p99: atMost(1000) }),
  ]
}

function ofStreams({ effort, streams }: Results): readonly Measure[] {
  const what = `${effort.streams} streams of 48 frames/s`
  // The target is for as many streams as a full run opens.
  const isFull = effort.streams >= 512
  const frames = added(
    `a frame of ${what}`,
    name => streams[name]?.frameMs,
    streams['direct']?.frameMs,
    isFull ? { p99: atMost(100) } : {},
  )
  return [
    ...frames,
    {
      name: `${what}: frames lost`,
      digits: 0,
      ...(isFull && { aim: atMost(0) }),
      of: name => streams[name]?.lostFrames,
    },
    {
      name: `${what}: % of a core`,
      digits: 0,
      ...(isFull && { aim: atMost(100) }),
      of: name => scaled(streams[name]?.cpuShare, 100),
    },
  ]
}

function ofMemory({ effort, memory, manyKeys, startMs }: Results): readonly Measure[] {
  const megabytes = (bytes: number | undefined): number | undefined => scaled(bytes, 1 / mebibyte)
  const keys = manyKeys.keys.toLocaleString('en-US')
  return [
    { name: 'RSS idle, MB', digits: 0, aim: atMost(100), of: name => megabytes(memory[name]?.idleBytes) },
    {
      name: 'RSS after saturation, MB',
      digits: 0,
      aim: atMost(250),
      of: name => megabytes(memory[name]?.saturatedBytes),
    },
    {
      name: `RSS with ${effort.idleConnections.toLocaleString('en-US')} idle connections, MB`,
      digits: 0,
      of: name => megabytes(memory[name]?.connectionsBytes),
    },
    {
      name: `RSS with ${effort.openStreams.toLocaleString('en-US')} open streams, MB`,
      digits: 0,
      of: name => megabytes(memory[name]?.streams.bytes),
    },
    {
      name: 'RSS more for each open stream, KB',
      digits: 1,
      aim: atMost(64),
      of: name => scaled(memory[name]?.streams.bytesEach, 1 / 1024),
    },
    { name: `RSS with ${keys} keys, MB`, digits: 0, of: onlyStrict(manyKeys.bytes / mebibyte) },
    { name: 'start to first answer, ms', digits: 0, of: name => startMs[name] },
    { name: `start to first answer with ${keys} keys, ms`, digits: 0, of: onlyStrict(manyKeys.startMs) },
  ]
}

/** Three rows of the latency that is added to the upstream's own, which is shown whole. */
function added(
  what: string,
  own: (name: string) => Quantiles | undefined,
  direct: Quantiles | undefined,
  aims: Partial<Record<keyof Quantiles, Aim>>,
): readonly Measure[] {
  return quantileNames.map(([key, label]) => ({
    name: `added µs, ${what}, ${label}`,
    digits: 0,
    ...(aims[key] !== undefined && { aim: aims[key] }),
    of: name => {
      const base = name === 'direct' ? 0 : direct?.[key]
      const whole = own(name)?.[key]
      return whole === undefined || base === undefined ? undefined : (whole - base) * 1000
    },
  }))
}

/** The same, each compared with the upstream at the same rate. */
function addedAtRate(what: string, rate: (name: string) => AtRate | undefined): readonly Measure[] {
  return quantileNames.map(([key, label]) => ({
    name: `added µs, ${what}, ${label}`,
    digits: 0,
    of: name => {
      const measured = rate(name)
      return measured === undefined ? undefined : (measured.own[key] - measured.direct[key]) * 1000
    },
  }))
}

function onlyStrict(value: number): Measure['of'] {
  return name => (name === 'gateway strict' ? value : undefined)
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base
}

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor
}
