import { GatewayError } from '../pipeline/errors.ts'
import { countFound } from './sweep.ts'

interface BodyBudgetOptions {
  /** In memory and in files together. */
  readonly bytesMax: number
  /** In memory alone: what is beyond goes to a file, however short it is. */
  readonly memoryBytesMax: number
}

/** Memory that is taken up beside a body, for as long as the body is there. */
export class KeptMemory {
  readonly #budget: BodyBudget
  #bytes = 0
  #isClosed = false

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /**
   * How much it is now, all in all.
   * @throws GatewayError overloaded
   */
  set(bytes: number): void {
    if (this.#isClosed || bytes === this.#bytes) return
    const more = bytes - this.#bytes
    if (more < 0) {
      this.#budget.give(-more)
      this.#budget.giveMemory(-more)
      this.#bytes = bytes
      return
    }
    this.#budget.take(more)
    if (!this.#budget.takeMemory(more)) {
      this.#budget.give(more)
      throw new GatewayError(
        'overloaded',
        'The gateway holds as many parts of requests as it may. Try again soon.',
        { retryAfterSeconds: 1 },
      )
    }
    this.#bytes = bytes
    countFound(more)
  }

  close(): void {
    this.set(0)
    this.#isClosed = true
  }
}

/** Bytes of request bodies that all exchanges together hold, bounded. */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  #bytes = 0
  #memoryBytes = 0

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** In memory and in files together. */
  get bytes(): number {
    return this.#bytes
  }

  get memoryBytes(): number {
    return this.#memoryBytes
  }

  /** @throws GatewayError overloaded */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#options.bytesMax) {
      throw new GatewayError(
        'overloaded',
        'The gateway holds as many request bodies as it may. Try again soon.',
        { retryAfterSeconds: 1 },
      )
    }
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }

  /** False when the bytes have to go to a file. */
  takeMemory(bytes: number): boolean {
    if (this.#memoryBytes + bytes > this.#options.memoryBytesMax) return false
    this.#memoryBytes += bytes
    return true
  }

  giveMemory(bytes: number): void {
    this.#memoryBytes -= bytes
  }
}
