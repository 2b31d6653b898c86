import { setTimeout as delay } from 'node:timers/promises'

/** Work that is done again and again. */
export interface Repeated {
  /** Ends; work that has begun is waited for, for some seconds at most. */
  close(): Promise<void>
}

const closeMs = 5000

/** Does work every so often, never twice at once. The work handles its errors. */
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
