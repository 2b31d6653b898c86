import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that something in this process still refers to. */
export function memoryInUse(): number {
  collectGarbage()
  // The memory of buffers is given back in a thread of its own, up to 40 MB of it after the collection: another waits for it.
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
