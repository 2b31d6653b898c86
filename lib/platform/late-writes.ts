import { setTimeout as delay } from 'node:timers/promises'

/** The delay before another attempt when the store cannot be written. */
const retryMs = 5000
/** How long the end of a process waits for a store that does not respond. */
const closeMs = 2000

/** Writes what gathers in memory: a while after the first item, and again later as long as something is left. */
export class LateWrites {
  readonly #write: () => Promise<void>
  readonly #isEmpty: () => boolean
  readonly #gatherMs: number
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #isStopped = false

  /** @param write leaves in memory what could not be written, and does not throw */
  constructor(write: () => Promise<void>, isEmpty: () => boolean, gatherMs: number) {
    this.#write = write
    this.#isEmpty = isEmpty
    this.#gatherMs = gatherMs
  }

  /** Schedules a write, because there is something to write. */
  expect(): void {
    this.#writeIn(this.#gatherMs)
  }

  /** Writes what is left once more, for some seconds at most, and starts no more writes. */
  async close(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    const left = Promise.resolve(this.#writing).then(() => this.#write())
    await Promise.race([left, delay(closeMs, undefined, { ref: false })])
  }

  #writeIn(ms: number): void {
    if (this.#timer !== undefined || this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined
        if (!this.#isEmpty()) this.#writeIn(retryMs)
      })
    }, ms)
    this.#timer.unref()
  }
}
