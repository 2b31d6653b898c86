import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

interface Collection {
  readonly type: 'minor' | 'major'
  readonly execution: 'sync'
  readonly flavor?: 'last-resort'
}
type Collect = (collection: Collection) => void

/** Eleven days, since V8 has no value for never. */
const reducerDelayMs = 1_000_000_000

let collect: Collect | undefined

/** Collects the young generation, which takes about a millisecond. */
export function collectYoung(): void {
  collect ??= findCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/**
 * Collects everything, which takes tens of milliseconds, and returns free memory to the system: for a process that has
 * just started. By itself V8 would reduce the heap again after each pause of some seconds, and drop the hidden classes
 * that have no live object, with all machine code compiled for them: the requests after a pause took two to four times
 * as long. The memory returned would include the young generation's, which V8 grows by doubling: the first traffic
 * filled it while most of its objects were in use, and moved them to the old generation.
 */
export function releaseMemory(): void {
  collect ??= findCollector()
  stopReducing()
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString('--semi-space-growth-factor=16')
}

/**
 * Stops V8 from reducing heaps by itself, in all threads. A reduction that is already scheduled is postponed, which
 * Node 24 does not support. `--memory-reducer-gc-count=0` would end the process (`Check failed: state.started_gcs() <=
 * MaxNumberOfGCs()`) if a thread's heap is being reduced at the time, for instance after a start of half a minute.
 */
function stopReducing(): void {
  setFlagsFromString('--no-memory-reducer')
  const canPutOff = Number.parseInt(process.versions.node, 10) >= 26
  if (canPutOff) setFlagsFromString(`--memory-reducer-delay-ms=${reducerDelayMs}`)
}

/**
 * After a full collection V8 lets the old generation grow by as little as a fifth before the next one, and counts the
 * chunks that passed since: with a small heap, every other collection of chunks was followed by a full one, of 5 to 30
 * ms, seven times a second. It may grow to three times its size instead.
 */
function findCollector(): Collect {
  setFlagsFromString('--heap-growing-percent=200')
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}

/**
 * Counts the bytes of relayed chunks, and collects the young generation every 16 MB, which takes about a millisecond.
 * The bytes of a chunk are outside V8's heap, where only a few hundred bytes of objects represent them: by itself V8
 * would let hundreds of megabytes of dead chunks accumulate.
 */
export const countPassed = collectEvery(16 * 1_048_576)

/**
 * Counts the bytes of findings in bodies that are kept. Each of two collections copies what is still alive, so a
 * collection takes as long as much has been added since the last: by itself V8 would wait for 16 MB of it, and then
 * block everything for 10 ms.
 */
export const countFound = collectEvery(1_572_864)

function collectEvery(bytesMax: number): (bytes: number) => void {
  let bytesSince = 0
  return bytes => {
    bytesSince += bytes
    if (bytesSince < bytesMax) return
    bytesSince = 0
    collectYoung()
  }
}
