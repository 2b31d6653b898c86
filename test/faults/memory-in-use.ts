import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that are still referenced in this process. */
export function memoryInUse(): number {
  collectGarbage()
  // Another thread frees the memory of buffers, up to 40 MB of it after the collection; a second collection waits for it.
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
