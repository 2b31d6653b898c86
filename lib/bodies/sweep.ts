import { sweepYoung } from '../platform/collect-garbage.ts'

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
