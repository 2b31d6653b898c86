import type { FaultContext } from './fault.ts'
import { ask, openai } from './observe.ts'

const askedCount = 60
/** Under a hostile load other clients may take this many times as long; the best of several rounds counts. */
const ratioMax = 5
const roundsMax = 5

/** The 99th percentile of how long other clients wait for their responses, requested one after another. */
async function othersP99(context: FaultContext, isOver: () => boolean): Promise<number> {
  const timesMs: number[] = []
  while (timesMs.length < askedCount && !isOver()) {
    const began = performance.now()
    const { answer } = await ask(context, openai)
    if (answer?.status !== 200) throw new Error(`Another client got ${answer?.status ?? 'nothing'}.`)
    timesMs.push(performance.now() - began)
    await context.skipEnds(1)
  }
  return timesMs.toSorted((a, b) => a - b)[Math.floor(timesMs.length * 0.99)] ?? Number.POSITIVE_INFINITY
}

/** A load that lasts until it is ended. */
export interface Load {
  readonly isOver: () => boolean
  readonly end: () => Promise<void>
}

/** Compares the latency of other clients under a load with that without it, in turns on the same machine. */
export async function compareOthers(context: FaultContext, begin: () => Promise<Load>): Promise<string> {
  await othersP99(context, () => false) // The first calls of code are slow.
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < roundsMax && best > ratioMax; round += 1) {
    const calmMs = await othersP99(context, () => false)
    const load = await begin()
    const busyMs = await othersP99(context, load.isOver)
    await load.end()
    best = Math.min(best, busyMs / calmMs)
  }
  return best <= ratioMax
    ? `others' p99 at most ${ratioMax} times as long`
    : `others' p99 ${best.toFixed(1)} TIMES as long`
}
