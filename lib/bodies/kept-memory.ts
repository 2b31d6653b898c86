import { GatewayError } from '../pipeline/errors.ts'
import type { BodyBudget } from './body-budget.ts'
import { countFound } from './sweep.ts'

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
