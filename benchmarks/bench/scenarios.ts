import { setTimeout as delay } from 'node:timers/promises'
import { percentile } from '../percentile.ts'
import type { LoadResult } from './load-job.ts'
import type { Loader } from './loader.ts'
import { requestTo } from './requests.ts'
import type { Target } from './targets.ts'

/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number
  readonly seconds: number
  /** Of each closed loop, before the first one that counts: for the compiler. */
  readonly warmUpSeconds: number
  readonly turns: number
  /** Concurrent streams, each with 48 frames a second. */
  readonly streams: number
  /** Concurrent streams, to measure their memory. */
  readonly openStreams: number
  readonly openStreamsSeconds: number
  readonly idleConnections: number
  readonly keys: number
}

/** Milliseconds at three places of a distribution. */
export interface Quantiles {
  readonly p50: number
  readonly p99: number
  readonly p999: number
}

export interface Saturation {
  readonly requestsPerSecond: number
  readonly cpuMicros: number
  readonly p99Ms: number
  readonly errors: number
}

const connections = 32

export function quantiles(values: Float64Array | readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort()
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), p999: percentile(sorted, 0.999) }
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

/** The maximum of each, and the cost of a request; in turns, so that a slow minute affects all. */
export async function saturate(
  loader: Loader,
  targets: readonly Target[],
  effort: Effort,
  promptBytes = 80,
): Promise<ReadonlyMap<string, Saturation>> {
  const measured = new Map<string, Saturation[]>()
  for (let round = -1; round < effort.rounds; round++) {
    for (const target of targets) {
      const request = requestTo(target, { promptBytes })
      const before = target.cpuMicros()
      // The first round is for the compiler.
      const seconds = round === -1 ? effort.warmUpSeconds : effort.seconds
      const result = await loader.run({ kind: 'closed', port: target.port, request, connections, seconds })
      if (round === -1) continue
      const count = result.ms.length
      const list = measured.get(target.name) ?? []
      list.push({
        requestsPerSecond: count / result.seconds,
        cpuMicros: (target.cpuMicros() - before) / count,
        p99Ms: quantiles(result.ms).p99,
        errors: result.errors,
      })
      measured.set(target.name, list)
    }
  }
  return new Map([...measured].map(([name, list]) => [name, middle(list)]))
}

function middle(list: readonly Saturation[]): Saturation {
  return {
    requestsPerSecond: median(list.map(each => each.requestsPerSecond)),
    cpuMicros: median(list.map(each => each.cpuMicros)),
    p99Ms: median(list.map(each => each.p99Ms)),
    errors: list.reduce((sum, each) => sum + each.errors, 0),
  }
}

/** One request at a time to each in turns: the latency that each adds to the upstream's own. */
export async function latencyAlone(
  loader: Loader,
  targets: readonly Target[],
  effort: Effort,
): Promise<ReadonlyMap<string, Quantiles>> {
  const lanes = targets.map(target => ({ port: target.port, request: requestTo(target) }))
  const warmUp = Math.min(300, Math.ceil(effort.turns / 4))
  const results = await loader.runTurns({ kind: 'turns', lanes, rounds: effort.turns, warmUp })
  return byName(targets, results, result => result.ms)
}

/** The first byte of an event stream, one stream at a time in turns. */
export async function firstByte(
  loader: Loader,
  targets: readonly Target[],
  effort: Effort,
): Promise<ReadonlyMap<string, Quantiles>> {
  const lanes = targets.map(target => ({
    port: target.port,
    request: requestTo(target, { isStreaming: true, upstream: 'frames=2,rate=1000' }),
  }))
  const rounds = Math.ceil(effort.turns / 4)
  const results = await loader.runTurns({ kind: 'turns', lanes, rounds, warmUp: 50 })
  return byName(targets, results, result => result.firstByteMs)
}

function byName(
  targets: readonly Target[],
  results: readonly LoadResult[],
  values: (result: LoadResult) => Float64Array,
): ReadonlyMap<string, Quantiles> {
  return new Map(targets.map(({ name }, index) => [name, quantiles(values(results[index] as LoadResult))]))
}

/** Latency at a constant rate, and that of the upstream itself at the same rate in the same minute. */
export interface AtRate {
  readonly own: Quantiles
  readonly direct: Quantiles
}

/** A constant rate: a share of the target's maximum. */
export async function atRate(
  loader: Loader,
  target: Target,
  upstream: Target,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<AtRate> {
  const one = async (asked: Target): Promise<Quantiles> => {
    const request = requestTo(asked)
    const job = { kind: 'open', port: asked.port, request, connections: 128, seconds, rate } as const
    return quantiles((await loader.run(job)).ms)
  }
  return { own: await one(target), direct: await one(upstream) }
}

export interface Streams {
  readonly count: number
  /** From when the upstream sent a frame until it was read. */
  readonly frameMs: Quantiles
  readonly lostFrames: number
  readonly errors: number
  /** Of one core. */
  readonly cpuShare: number
}

/** Many event streams at 48 frames a second each. */
export async function manyStreams(loader: Loader, target: Target, effort: Effort): Promise<Streams> {
  const frames = effort.seconds * 48
  const request = requestTo(target, { isStreaming: true, upstream: `frames=${frames},rate=48` })
  const before = target.cpuMicros()
  const result = await loader.run({ kind: 'streams', port: target.port, request, count: effort.streams })
  const frameMs = result.frameMs ?? new Float64Array()
  return {
    count: effort.streams,
    frameMs: quantiles(frameMs),
    lostFrames: effort.streams * frames - frameMs.length,
    errors: result.errors,
    cpuShare: (target.cpuMicros() - before) / (result.seconds * 1e6),
  }
}

export interface Memory {
  readonly idleBytes: number
  readonly streams: OpenStreams
  readonly saturatedBytes: number
  readonly connectionsBytes: number
}

/** The memory of a process with open streams, and the part of each stream. */
export interface OpenStreams {
  readonly bytes: number
  readonly bytesEach: number
}

/** Measured with open streams, before any other load has grown the heap. */
export async function openStreams(loader: Loader, target: Target, effort: Effort): Promise<OpenStreams> {
  const frames = effort.openStreamsSeconds * 10
  const streams = (count: number, frameCount: number): ReturnType<Loader['run']> => {
    const request = requestTo(target, { isStreaming: true, upstream: `frames=${frameCount},rate=10` })
    return loader.run({ kind: 'streams', port: target.port, request, count })
  }
  // A few first, so that one-time allocations do not count as theirs.
  await streams(32, 5)
  const before = target.rssBytes()
  const running = streams(effort.openStreams, frames)
  await delay((effort.openStreamsSeconds * 1000 * 2) / 3)
  const bytes = target.rssBytes()
  await running
  return { bytes, bytesEach: Math.max(0, bytes - before) / effort.openStreams }
}

/** The memory after all the earlier load, and with many idle connections. */
export async function memory(
  loader: Loader,
  target: Target,
  before: Pick<Memory, 'idleBytes' | 'streams'>,
  effort: Effort,
): Promise<Memory> {
  const saturatedBytes = target.rssBytes()
  await loader.run({ kind: 'hold', port: target.port, connections: effort.idleConnections })
  const connectionsBytes = target.rssBytes()
  await loader.run({ kind: 'let-go' })
  return { ...before, saturatedBytes, connectionsBytes }
}
