import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

interface Collection {
  readonly type: 'minor' | 'major'
  readonly execution: 'sync'
  readonly flavor?: 'last-resort'
}
type Collect = (collection: Collection) => void

let collect: Collect | undefined

/** Collects the young generation, which takes about a millisecond. */
export function sweepYoung(): void {
  collect ??= findCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/** Collects everything, which takes tens of milliseconds, and gives back to the system what is free then. */
export function giveBackMemory(): void {
  collect ??= findCollector()
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/**
 * After a full collection V8 lets the old generation grow by as little as a fifth before the next, and counts
 * the chunks that passed since then: beside a small heap every other sweep of chunks was followed by a full
 * collection, of 5 to 30 ms, seven times a second. It may grow to three times its size instead.
 */
function findCollector(): Collect {
  setFlagsFromString('--heap-growing-percent=200')
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}
