import { sweepYoung } from '../collect-garbage.ts'

/** After how many bytes of bodies that went by. */
const sweepBytes = 16 * 1_048_576

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
  sweepYoung()
}

/** After how much that was found in bodies. */
const sweepFoundBytes = 1_572_864

let foundBytesSince = 0

/**
 * Counts what was found in bodies and is kept. What lives on is copied by each of two sweeps, so a sweep takes as
 * long as much has come since the last: by itself V8 would wait for 16 MB of it, and everybody for 10 ms.
 */
export function countFound(bytes: number): void {
  foundBytesSince += bytes
  if (foundBytesSince < sweepFoundBytes) return
  foundBytesSince = 0
  sweepYoung()
}
