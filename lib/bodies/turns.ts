/** For how long in one iteration of the event loop work that can wait is done, counted from its first piece. */
const turnMs = 0.5
/**
 * The same limit for the first work of a connection. Requests that are read in one iteration of the event loop share
 * the writer's commit and its messages: with iterations of half a millisecond, each request costs a third more.
 */
const firstMs = 4

/** Does the work of a waiter, or lets it continue. */
type Waiting = () => void

/**
 * Shares the time of the event loop among all work that takes long or comes in floods, so that none waits long for the
 * rest. Work that finds no time left in this iteration is done in a later one: one piece of each owner after another,
 * and each owner's pieces in order. Work without an owner forms an owner of its own.
 */
export class Turns {
  /**
   * The owners that wait, in the order of their turns. The map is replaced whenever it is empty: the tables of a
   * long-lived Map refer to each other, and keep alive what waited (see OpenList).
   */
  #queues = new Map<unknown, Waiting[]>()
  #begunMs: number | undefined
  readonly #nowMs: () => number

  constructor(nowMs = (): number => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Does a short piece of work: at once where there is time, else in its turn. */
  take<T>(work: () => T, owner?: unknown): T | Promise<Awaited<T>> {
    if (this.mayGoOn()) return work()
    return new Promise((resolve, reject) => {
      this.#wait(owner, () => {
        try {
          resolve(work() as Awaited<T>)
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /**
   * Called before each short piece of work in a promise chain: undefined when it may continue at once, else a promise
   * that resolves in its turn.
   */
  enter(owner?: unknown): Promise<void> | undefined {
    return this.mayGoOn() ? undefined : this.wait(owner)
  }

  /** Whether nothing waits and there is time left; a cheap check for work whose owner takes long to find. */
  mayGoOn(): boolean {
    return this.#queues.size === 0 && this.#hasTime()
  }

  /** Whether there is time left for work that comes one by one, not in floods: it precedes all waiting work. */
  mayBegin(): boolean {
    return this.#hasTime(firstMs)
  }

  /** Resolves when it is the owner's turn. */
  wait(owner?: unknown): Promise<void> {
    return new Promise(resolve => this.#wait(owner, resolve))
  }

  #wait(owner: unknown, waiting: Waiting): void {
    this.#begin()
    const key = owner ?? waiting
    const queue = this.#queues.get(key)
    if (queue === undefined) this.#queues.set(key, [waiting])
    else queue.push(waiting)
  }

  #hasTime(forMs = turnMs): boolean {
    return this.#begin() || this.#nowMs() - (this.#begunMs as number) < forMs
  }

  /** @returns whether it had not begun */
  #begin(): boolean {
    if (this.#begunMs !== undefined) return false
    this.#begunMs = this.#nowMs()
    // Immediates run once per iteration of the event loop, after the sockets were read.
    setImmediate(this.#nextTurn)
    return true
  }

  readonly #nextTurn = (): void => {
    this.#begunMs = undefined
    this.#goOn()
  }

  readonly #goOn = (): void => {
    const [next] = this.#queues
    if (next === undefined || !this.#hasTime()) return
    this.#takeFrom(...next)()
    // Work continued in promises and ticks counts too, so these run first, including those that they start in turn.
    queueMicrotask(this.#goOnAfterPromises)
  }

  readonly #goOnAfterPromises = (): void => process.nextTick(this.#goOnAfterTicks)

  readonly #goOnAfterTicks = (): void => queueMicrotask(this.#goOnAtLast)

  readonly #goOnAtLast = (): void => process.nextTick(this.#goOn)

  /** @returns the first piece of the owner, which then goes to the end of the queue */
  #takeFrom(owner: unknown, queue: Waiting[]): Waiting {
    this.#queues.delete(owner)
    const waiting = queue.shift() as Waiting
    if (queue.length > 0) this.#queues.set(owner, queue)
    else if (this.#queues.size === 0) this.#queues = new Map()
    return waiting
  }
}

/** One per process, because there is one event loop. */
export const turns = new Turns()

/**
 * Runs work step by step; each step is short enough not to delay other work. Work with a single step is done at once.
 */
export function runSteps<T>(steps: Generator<undefined, T>): T | Promise<T> {
  const first = steps.next()
  return first.done === true ? first.value : runRest(steps)
}

async function runRest<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = turns.take(() => steps.next())
    const { done, value } = step instanceof Promise ? await step : step
    if (done === true) return value
  }
}

/** Reads a body as it arrives, and returns a result at its end. Both calls may throw to refuse the body. */
export interface BodyScan<T> {
  push(chunk: Buffer): void
  /** Work to do before `end`, where it takes long. */
  prepareEnd?(): Generator<undefined, void>
  end(): T
}

/** How much is scanned between checks of the time: a fraction of a millisecond for the densest JSON. */
const sliceBytes = 8192

/** Pushes a chunk into the scan, in pieces that do not delay other work. */
export function pushInTurns(scan: BodyScan<unknown>, chunk: Buffer): Promise<void> | undefined {
  if (chunk.length <= sliceBytes) return turns.take(() => scan.push(chunk)) ?? undefined
  return pushSlices(scan, chunk)
}

async function pushSlices(scan: BodyScan<unknown>, chunk: Buffer): Promise<void> {
  for (let start = 0; start < chunk.length; start += sliceBytes) {
    const pending = turns.take(() => scan.push(chunk.subarray(start, start + sliceBytes)))
    if (pending instanceof Promise) await pending
  }
}

/** Ends the scan and returns its result. */
export async function endInTurns<T>(scan: BodyScan<T>): Promise<T> {
  if (scan.prepareEnd !== undefined) await runSteps(scan.prepareEnd())
  return turns.take(() => scan.end())
}
