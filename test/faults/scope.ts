import type { Test } from 'tap'

/** What was opened for one case, closed again at its end in reverse order. */
export class Scope {
  readonly #steps: (() => unknown)[] = []

  /** The fixtures want a test, and ask nothing of it but `teardown`. */
  get asTest(): Test {
    return this as unknown as Test
  }

  teardown(step: () => unknown): void {
    this.#steps.push(step)
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) await step()
  }
}
