/** For how long in one turn of the event loop bodies, messages and media are read, from the first piece on. */
const turnMs = 0.5

/**
 * Shares out the time of the event loop among all that takes long to read, so that nobody else waits long for
 * it. What finds no time left in this turn is done in a later one, in order.
 */
export class Turns {
  readonly #waiting: (() => 'is done' | 'goes on')[] = []
  #begunMs: number | undefined

  /** Does a short piece of work: at once where there is time, else in its turn. */
  take<T>(work: () => T): T | Promise<Awaited<T>> {
    if (this.#hasTime()) return work()
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work() as Awaited<T>)
        } catch (error) {
          reject(error)
        }
        return 'is done'
      })
    })
  }

  /**
   * Asked before each short piece of what goes on in promises: undefined when it may go on at once, else it
   * goes on in its turn.
   */
  enter(): Promise<void> | undefined {
    if (this.#hasTime()) return undefined
    return new Promise(resolve => {
      this.#waiting.push(() => {
        resolve()
        return 'goes on'
      })
    })
  }

  #hasTime(): boolean {
    if (this.#begunMs !== undefined) return performance.now() - this.#begunMs < turnMs
    this.#begunMs = performance.now()
    // Immediates run once a turn, after the sockets were read.
    setImmediate(() => this.#nextTurn())
    return true
  }

  #nextTurn(): void {
    this.#begunMs = undefined
    while (this.#waiting.length > 0 && this.#hasTime()) {
      // What is left of this turn belongs to who goes on, in promises that are settled after this.
      if (this.#waiting.shift()?.() === 'goes on') return
    }
  }
}

/** Of this process: there is one event loop. */
export const turns = new Turns()
