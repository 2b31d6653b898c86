import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** After how many bytes of bodies that went by. */
const sweepBytes = 16 * 1_048_576

type CollectGarbage = (options: { readonly type: 'minor'; readonly execution: 'sync' }) => void

let collectGarbage: CollectGarbage | undefined
let bytesSince = 0

/**
 * Counts the bytes of chunks that went by, and has the young generation swept from time to time, which takes
 * about a millisecond. A chunk's bytes stand outside of V8's heap, where a few hundred bytes of objects tell of
 * them: by itself V8 would let hundreds of megabytes of dead chunks gather before it looks.
 */
export function countPassed(bytes: number): void {
  bytesSince += bytes
  if (bytesSince < sweepBytes) return
  bytesSince = 0
  collectGarbage ??= findCollector()
  collectGarbage({ type: 'minor', execution: 'sync' })
}

/**
 * After a full collection V8 lets the old generation grow by as little as a fifth before the next, and counts
 * the chunks that passed since then: beside a small heap every other sweep was followed by a full collection,
 * of 5 to 30 ms, seven times a second. It may grow to three times its size instead.
 */
function findCollector(): CollectGarbage {
  setFlagsFromString('--heap-growing-percent=200')
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as CollectGarbage
}
