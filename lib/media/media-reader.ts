import { turns } from '../bodies/turns.ts'

/**
 * The length that a file states, unless its content is clearly longer: players follow the content, so a file that
 * states a second and contains an hour is an hour long. Padding and the last frame of a recording make no difference.
 */
export function believedSeconds(said: number | undefined, held: number): number | undefined {
  const seconds = said === undefined || held > said * 1.01 + 0.5 ? held : said
  return seconds > 0 ? seconds : undefined
}

/** Decoded content that can be read at positions: in memory, in a spool file, or in transit. */
export interface MediaSource {
  /**
   * `length` bytes from `position` on, fewer only at the end.
   * @throws MediaUnreadableError when they have passed and were not kept
   */
  read(position: number, length: number): Promise<Buffer>
  /** The number of bytes; for content in transit it is known at its end. */
  size(): Promise<number>
}

/** Bytes of a request's body, wherever they are stored. */
export interface BodyReader {
  readonly length: number
  read(position: number, length: number): Promise<Buffer>
}

/** The content begins like a format that it cannot be: no reader of that format can use it. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError'
}

/** A measurement needs bytes that are not available, or more bytes than it may read. */
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

/**
 * The work that all measurements of one request may cause together, so that hostile files cost no more than large ones.
 */
export class MediaBudget {
  #bytes: number
  #steps: number

  constructor(bytesMax = 268_435_456, stepsMax = 400_000) {
    this.#bytes = bytesMax
    this.#steps = stepsMax
  }

  /**
   * Called before work is done. Yields to other exchanges from time to time.
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

  /**
   * The window's content from a position on, at least `least` bytes unless the file ends: for walks through a whole
   * file.
   */
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

  /** Accounts for work on bytes that were read. @throws MediaUnreadableError */
  async spend(bytes: number): Promise<void> {
    await this.#budget.spend(bytes)
  }

  /** Walks read ahead; jumps from header to header do not. */
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
