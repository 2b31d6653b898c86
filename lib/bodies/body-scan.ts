import { turns, runSteps } from './turns.ts'

/** Reads a body as it comes, and says at its end what it is. Both calls may refuse it by an error. */
export interface BodyScan<T> {
  push(chunk: Buffer): void
  /** What there is to do before the end, where it takes long. */
  prepareEnd?(): Generator<undefined, void>
  end(): T
}

/** How much is scanned without looking at the time: a fraction of a millisecond of the densest JSON. */
const sliceBytes = 8192

/** Has the scan take a chunk, in pieces that do not keep others waiting. */
export function pushInTurns(scan: BodyScan<unknown>, chunk: Buffer): Promise<void> | undefined {
  if (chunk.length <= sliceBytes) return turns.take(() => scan.push(chunk)) ?? undefined
  return pushSlices(scan, chunk)
}

async function pushSlices(scan: BodyScan<unknown>, chunk: Buffer): Promise<void> {
  for (let start = 0; start < chunk.length; start += sliceBytes) {
    const pending = turns.take(() => scan.push(chunk.subarray(start, start + sliceBytes)))
    if (pending instanceof Promise) await pending
  }
}

/** Has the scan say what the body is. */
export async function endInTurns<T>(scan: BodyScan<T>): Promise<T> {
  if (scan.prepareEnd !== undefined) await runSteps(scan.prepareEnd())
  return turns.take(() => scan.end())
}
