/** How much of one turn of the event loop all measurements together may take. */
const turnMs = 4
/** After so long without a measurement its turn is over, whatever it was. */
const idleMs = 20

const waiting: (() => void)[] = []
let turnStartMs = Number.NEGATIVE_INFINITY
let isScheduled = false

/**
 * Asked before every piece of measuring: undefined when there is time left in this turn of the event loop,
 * else a promise for a later one. However many files are measured at once, others wait for one piece only.
 */
export function measuringTurn(): Promise<void> | undefined {
  const nowMs = performance.now()
  const usedMs = nowMs - turnStartMs
  if (waiting.length === 0 && usedMs < turnMs) return undefined
  if (waiting.length === 0 && usedMs > idleMs) {
    turnStartMs = nowMs
    return undefined
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.push(resolve)
  schedule()
  return promise
}

/** Immediates run once a turn, after the sockets were read. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    turnStartMs = performance.now()
    waiting.shift()?.()
    if (waiting.length > 0) schedule()
  })
}
