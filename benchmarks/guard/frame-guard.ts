import { join } from 'node:path'
import { cores, startNode } from '../bench/process.ts'
import type { Target } from '../bench/targets.ts'
import { measureStreams, type StreamCost } from '../streams/measure-streams.ts'
import { streamRequest } from '../streams/stream-request.ts'
import { bareRelay, streamGateway } from '../streams/stream-targets.ts'
import { bounds, calmShare } from './bounds.ts'
import { percentile } from '../percentile.ts'

// Whether a frame of a stream has become more expensive: its CPU as a multiple of the bare relay's, in turns. The
// streams are chats whose usage is restored, which are the most work for the gateway.

const rounds = 5
const seconds = 2
const streams = 128
const wishes = { format: 'restored', frameBytes: 230, framesPerSecond: 48, joined: 1, pieces: 1 } as const

/** Starts the targets, and measures again when a bound is exceeded. */
export async function guardFrames(say: (line: string) => void): Promise<boolean> {
  const folder = join(import.meta.dirname, '../streams')
  const upstream = await startNode(join(folder, 'stream-upstream.ts'), [], cores.around)
  const load = await startNode(join(folder, 'stream-load.ts'), [], cores.around)
  const started: { stop(): Promise<void> }[] = [upstream, load]
  try {
    const bare = await bareRelay(upstream.port)()
    started.push(bare)
    const own = await streamGateway(upstream.port)()
    started.push(own)
    const measure = (target: Target): Promise<StreamCost> => {
      const request = streamRequest(target, wishes)
      return measureStreams(load, upstream, { target, isTls: false, request, streams, seconds })
    }
    // For the compiler.
    for (const target of [bare, own]) await measure(target)
    if (await isKept(bare, own, measure, say)) return true
    say('once more, in case it was the machine')
    return await isKept(bare, own, measure, say)
  } finally {
    for (const each of started.toReversed()) await each.stop()
  }
}

async function isKept(
  bare: Target,
  own: Target,
  measure: (target: Target) => Promise<StreamCost>,
  say: (line: string) => void,
): Promise<boolean> {
  const ratios: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { cpuMicrosAFrame: bareMicros } = await measure(bare)
    const { cpuMicrosAFrame: ownMicros } = await measure(own)
    ratios.push(ownMicros / bareMicros)
  }
  const sorted = ratios.toSorted((a, b) => a - b)
  const calm = percentile(sorted, calmShare)
  const range = `${sorted[0]?.toFixed(2)} to ${sorted.at(-1)?.toFixed(2)}`
  say(`a frame: CPU ${calm.toFixed(2)} x the bare relay in a calm turn (${range}), at most ${bounds.frame}`)
  return calm <= bounds.frame
}
