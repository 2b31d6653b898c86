import { turns } from '../bodies/turns.ts'

/**
 * What a file says of its length, unless what it holds is clearly longer: players go by what is there, so a file that
 * says a second and holds an hour is an hour long. Padding and the last frame of a recording make no difference.
 */
export function believedSeconds(said: number | undefined, held: number): number | undefined {
  const seconds = said === undefined || held > said * 1.01 + 0.5 ? held : said
  return seconds > 0 ? seconds : undefined
}

/** Decoded content that can be read at positions: in memory, in a spool file, or while it passes by. */
export interface MediaSource {
  /**
   * The bytes from `position` on: `length` of them, fewer only at the end.
   * @throws MediaUnreadableError when they have passed by and were not kept
   */
  read(position: number, length: number): Promise<Buffer>
  /** How many bytes there are; of what passes by it is known at its end. */
  size(): Promise<number>
}

/** Bytes of a request's body, wherever they are kept. */
export interface BodyReader {
  readonly length: number
  read(position: number, length: number): Promise<Buffer>
}

/** The content begins as one thing and cannot be it: no reader of that format gets anything out of it. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError'
}

/** Bytes are needed that are not there to be read, or more of them than a measurement may take. */
export class MediaUnreadableError extends Error {
  override readonly name = 'MediaUnreadableError'
}

/** The part of a body that is a file of a form. */
export function spanSource(body: BodyReader, start: number, length: number): MediaSource {
  return {
    size: () => Promise.resolve(length),
    read(position, wanted) {
      const count = Math.max(0, Math.min(wanted, length - position))
      return count === 0 ? Promise.resolve(Buffer.alloc(0)) : body.read(start + position, count)
    },
  }
}

const hopBytes = 4096
const windowBytesMax = 65_536

/** What all measurements of one request together may take, so that hostile files cost no more than large ones. */
export class MediaBudget {
  #bytes: number
  #steps: number

  constructor(bytesMax = 268_435_456, stepsMax = 400_000) {
    this.#bytes = bytesMax
    this.#steps = stepsMax
  }

  /**
   * Called before work is done. Lets others have their turn from time to time.
   * @throws MediaUnreadableError when the budget is spent
   */
  async spend(bytes: number): Promise<void> {
    this.#bytes -= bytes
    this.#steps -= 1
    if (this.#bytes < 0 || this.#steps < 0)
      throw new MediaUnreadableError('Measuring it would take more work than a request may cause.')
    const turn = turns.enter()
    if (turn !== undefined) await turn
  }
}

/** Reads a source in windows, within a budget. */
export class MediaReader {
  readonly #source: MediaSource
  readonly #budget: MediaBudget
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0

  constructor(source: MediaSource, budget: MediaBudget) {
    this.#source = source
    this.#budget = budget
  }

  /**
   * Up to `length` bytes, fewer only at the end.
   * @throws MediaUnreadableError
   */
  async read(position: number, length: number): Promise<Buffer> {
    const offset = position - this.#windowStart
    const isInside = offset >= 0 && offset + length <= this.#window.length
    if (!isInside) await this.#fill(position, length)
    else await this.#budget.spend(0)
    const from = position - this.#windowStart
    return this.#window.subarray(from, from + length)
  }

  /** What the window holds from a place on, `least` bytes unless there are fewer: for walks through all of a file. */
  async window(position: number, least: number): Promise<Buffer> {
    const offset = position - this.#windowStart
    const isInside = offset >= 0 && offset + least <= this.#window.length
    if (isInside) await this.#budget.spend(0)
    else await this.#fill(position, windowBytesMax)
    return this.#window.subarray(position - this.#windowStart)
  }

  size(): Promise<number> {
    return this.#source.size()
  }

  /** The last bytes, at most `length` of them. */
  async tail(length: number): Promise<Buffer> {
    const size = await this.size()
    return this.read(Math.max(0, size - length), Math.min(size, length))
  }

  /** For work on what was read. @throws MediaUnreadableError */
  async spend(bytes: number): Promise<void> {
    await this.#budget.spend(bytes)
  }

  /** Walks read ahead; hops from header to header do not. */
  async #fill(position: number, length: number): Promise<void> {
    if (!Number.isSafeInteger(position) || position < 0)
      throw new MediaUnreadableError('A place is named that no file has.')
    const isNext = position <= this.#windowStart + this.#window.length && position > this.#windowStart
    const wanted = Math.max(length, isNext ? windowBytesMax : hopBytes)
    await this.#budget.spend(wanted)
    this.#window = await this.#source.read(position, wanted)
    this.#windowStart = position
  }
}
