import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Measured } from '../bench/process.ts'
import { quantiles } from '../bench/scenarios.ts'
import type { LoadOrder, LoadReport } from './stream-load.ts'

/** The cost of streams through one target. */
export interface StreamCost {
  /** Of all threads, in microseconds. */
  readonly cpuMicrosAFrame: number
  readonly lateP50Ms: number
  readonly lateP99Ms: number
  readonly kilobytesAStream: number
  /** Frames that the upstream sent and the client did not receive. */
  readonly lost: number
  readonly failed: number
}

export interface StreamRun {
  readonly target: Measured & { readonly port: number }
  readonly isTls: boolean
  /** One whole request, as latin1 text. */
  readonly request: string
  readonly streams: number
  readonly seconds: number
}

/** Ends a stream's ramp: all are open, and the work of opening them is over. */
const settleMs = 1500

/** Opens the streams, measures them while they run, and lets them end. */
export async function measureStreams(
  load: Measured,
  upstream: Measured,
  { target, isTls, request, streams, seconds }: StreamRun,
): Promise<StreamCost> {
  const idleBytes = target.rssBytes()
  const opened = await ask(load, { kind: 'open', port: target.port, isTls, request, count: streams })
  await delay(settleMs)
  const ramp = await ask(load, { kind: 'look' })
  const cpuBefore = target.cpuMicros()
  await delay(seconds * 1000)
  const cpuAfter = target.cpuMicros()
  const { frames, lateMs } = await ask(load, { kind: 'look' })
  const openBytes = target.rssBytes()
  const { sent, ended } = await endStreams(load, upstream)
  const { p50, p99 } = quantiles(lateMs)
  return {
    cpuMicrosAFrame: (cpuAfter - cpuBefore) / frames,
    lateP50Ms: p50,
    lateP99Ms: p99,
    kilobytesAStream: Math.max(0, openBytes - idleBytes) / streams / 1024,
    lost: sent - opened.frames - ramp.frames - frames - ended.frames,
    failed: opened.failed + ended.failed,
  }
}

/** Has the upstream end its streams, and waits for their clients. */
export async function endStreams(
  load: Measured,
  upstream: Measured,
): Promise<{ readonly sent: number; readonly ended: LoadReport }> {
  const reply = once(upstream.child, 'message')
  upstream.child.send('end')
  const [sent] = (await reply) as [number]
  return { sent, ended: await ask(load, { kind: 'finish', timeoutMs: 20_000 }) }
}

export async function ask({ child }: Measured, order: LoadOrder): Promise<LoadReport> {
  const answered = once(child, 'message')
  child.send(order)
  const [report] = (await answered) as [LoadReport]
  return report
}
