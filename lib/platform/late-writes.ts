import { setTimeout as delay } from 'node:timers/promises'

/** A store that cannot be written is asked again after so long. */
const retryMs = 5000
/** A store that does not respond holds up the end of a process for so long. */
const closeMs = 2000

/** Writes what gathers in memory: a while after the first of it came, and again later as long as something is left. */
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

  /** Something has come. */
  expect(): void {
    this.#writeIn(this.#gatherMs)
  }

  /** Writes what is left once more, for some seconds at most, and begins no more writes. */
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
