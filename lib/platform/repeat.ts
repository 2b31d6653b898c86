import { setTimeout as delay } from 'node:timers/promises'

/** Work that is repeated at intervals. */
export interface Repeated {
  /** Stops; waits for work in progress, for some seconds at most. */
  close(): Promise<void>
}

const closeMs = 5000

/** Repeats work at an interval, never twice at once. The work handles its errors. */
export function repeat(everyMs: number, work: () => Promise<void>): Repeated {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= work().finally(() => (running = undefined))
  }, everyMs)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await Promise.race([running, delay(closeMs, undefined, { ref: false })])
    },
  }
}
