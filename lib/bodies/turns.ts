/** For how long in one turn of the event loop what can wait is done, from the first piece on. */
const turnMs = 0.5
/**
 * For how long what comes first of each connection is done before it waits, too. Requests that are read in one turn of the
 * event loop share the writer's commit and its messages: in turns of half a millisecond each costs a third more.
 */
const firstMs = 4

/** Does its work, or lets it go on. */
type Waiting = () => void

/**
 * Shares out the time of the event loop among all that takes long or comes in floods, so that nobody waits long for
 * others. What finds no time left in this turn is done in a later one: one piece of each owner after another, and each
 * owner's pieces in order. What has no owner is one of its own.
 */
export class Turns {
  /**
   * The owners that wait for their turn, in the order in which they have it. It is replaced whenever it is
   * empty: the tables of a Map that is kept refer to each other, and keep alive what waited (see OpenList).
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
   * Asked before each short piece of what goes on in promises: undefined when it may go on at once, else it
   * goes on in its turn.
   */
  enter(owner?: unknown): Promise<void> | undefined {
    return this.mayGoOn() ? undefined : this.wait(owner)
  }

  /** Whether nobody waits and there is time left: what takes long to find an owner for may ask this first. */
  mayGoOn(): boolean {
    return this.#queues.size === 0 && this.#hasTime()
  }

  /** Whether there is time left for what comes one by one, not in floods: it goes before all that waits. */
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
    // Immediates run once a turn, after the sockets were read.
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
    // What it does in promises and ticks counts. They come first: those that it set off, and those that these did.
    queueMicrotask(this.#goOnAfterPromises)
  }

  readonly #goOnAfterPromises = (): void => process.nextTick(this.#goOnAfterTicks)

  readonly #goOnAfterTicks = (): void => queueMicrotask(this.#goOnAtLast)

  readonly #goOnAtLast = (): void => process.nextTick(this.#goOn)

  /** @returns the first piece of the owner, who comes behind all others then */
  #takeFrom(owner: unknown, queue: Waiting[]): Waiting {
    this.#queues.delete(owner)
    const waiting = queue.shift() as Waiting
    if (queue.length > 0) this.#queues.set(owner, queue)
    else if (this.#queues.size === 0) this.#queues = new Map()
    return waiting
  }
}

/** Of this process: there is one event loop. */
export const turns = new Turns()

/**
 * Runs what goes step by step, each a piece of work that is short enough for nobody to wait. What has one step
 * only is done at once.
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

/** Reads a body as it comes, and says at its end what it is. Both calls may refuse it by an error. */
export interface BodyScan<T> {
  push(chunk: Buffer): void
  /** What there is to do before the end, where it takes long. */
  prepareEnd?(): Generator<undefined, void>
  end(): T
}

/** How much is scanned without looking at the time: a fraction of a millisecond of the densest JSON. */
const sliceBytes = 8192

/** Has the scan take a chunk, in pieces that do not keep others waiting. */
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

/** Has the scan say what the body is. */
export async function endInTurns<T>(scan: BodyScan<T>): Promise<T> {
  if (scan.prepareEnd !== undefined) await runSteps(scan.prepareEnd())
  return turns.take(() => scan.end())
}
