import { GatewayError } from '../pipeline/errors.ts'

interface BodyBudgetOptions {
  /** In memory and in files together. */
  readonly bytesMax: number
  /** In memory alone: what is beyond goes to a file, however short it is. */
  readonly memoryBytesMax: number
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
