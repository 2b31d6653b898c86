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
export function sweepYoung(): void {
  collect ??= findCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/**
 * Collects everything, which takes tens of milliseconds, and gives back to the system what is free then: for a process
 * that has started. By itself V8 would do so again after each pause of some seconds, and would forget the hidden classes
 * of which no object lives then, with all machine code compiled for them: what came after a pause took two to four
 * times as long. What was given back includes the room of the young generation, which V8 lets grow by doubling: the first
 * traffic filled it while most of its objects were in use, and moved them to the old one.
 */
export function giveBackMemory(): void {
  collect ??= findCollector()
  stopReducing()
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString('--semi-space-growth-factor=16')
}

/**
 * V8 is to reduce no heap by itself, in no thread. What it waits to begin or to go on with is put off, which Node 24 cannot.
 * `--memory-reducer-gc-count=0` would end the process (`Check failed: state.started_gcs() <= MaxNumberOfGCs()`) where
 * some thread's heap is being reduced by then, as after a start of half a minute.
 */
function stopReducing(): void {
  setFlagsFromString('--no-memory-reducer')
  const canPutOff = Number.parseInt(process.versions.node, 10) >= 26
  if (canPutOff) setFlagsFromString(`--memory-reducer-delay-ms=${reducerDelayMs}`)
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

/**
 * Counts the bytes of chunks that went by, and has the young generation swept every 16 MB, which takes about a
 * millisecond. A chunk's bytes stand outside of V8's heap, where a few hundred bytes of objects tell of them: by
 * itself V8 would let hundreds of megabytes of dead chunks gather before it looks.
 */
export const countPassed = sweepEvery(16 * 1_048_576)

/**
 * Counts the bytes of what was found in bodies and is kept. What lives on is copied by each of two sweeps, so a
 * sweep takes as long as much has come since the last: by itself V8 would wait for 16 MB of it, and everybody for
 * 10 ms.
 */
export const countFound = sweepEvery(1_572_864)

function sweepEvery(bytesMax: number): (bytes: number) => void {
  let bytesSince = 0
  return bytes => {
    bytesSince += bytes
    if (bytesSince < bytesMax) return
    bytesSince = 0
    sweepYoung()
  }
}
