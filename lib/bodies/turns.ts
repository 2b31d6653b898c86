/** How much of one turn of the event loop may go to reading bodies. */
const turnMs = 2

/**
 * Shares out the time of the event loop among all bodies that are scanned, so that nobody else waits long
 * for those that take long to read. What finds no time left in this turn is done in a later one, in order.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #usedMs = 0
  #isCounting = false

  /** Does a short piece of work: at once where there is time, else in its turn. */
  take<T>(work: () => T): T | Promise<Awaited<T>> {
    if (this.#usedMs < turnMs && this.#waiting.length === 0) return this.#run(work)
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#run(work) as Awaited<T>)
        } catch (error) {
          reject(error)
        }
      })
      this.#count()
    })
  }

  #run<T>(work: () => T): T {
    const begunMs = performance.now()
    try {
      return work()
    } finally {
      this.#usedMs += performance.now() - begunMs
      this.#count()
    }
  }

  /** Immediates run once a turn, after the sockets were read. */
  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(() => {
      this.#isCounting = false
      this.#usedMs = 0
      while (this.#usedMs < turnMs) {
        const next = this.#waiting.shift()
        if (next === undefined) return
        next()
      }
      this.#count()
    })
  }
}
