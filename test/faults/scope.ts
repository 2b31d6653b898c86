import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** What was opened for one case, closed again at its end in reverse order. */
export class Scope {
  readonly #steps: (() => unknown)[] = []

  /** The fixtures want a test, and ask nothing of it but what is here. */
  get asTest(): Test {
    return this as unknown as Test
  }

  teardown(step: () => unknown): void {
    this.#steps.push(step)
  }

  testdir(): string {
    const folder = mkdtempSync(join(tmpdir(), 'fault-'))
    this.teardown(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) await step()
  }
}
