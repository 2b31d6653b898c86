import type { UsageReading } from '../money/usage.ts'

/** What responses of a model usually have, in tokens. */
export interface UsualOutput {
  readonly output: number
  /** Billed as output and not shown: reasoning, for the most part. */
  readonly unseen: number
}

/** As many models as may be remembered; the one that was not heard of for longest is forgotten first. */
const modelsMax = 1000
/** How much a new response counts beside those before it, once there are enough of them. */
const weightMin = 1 / 32
const bytesPerToken = 4

interface Mean {
  output: number
  unseen: number
  count: number
}

/** Remembers, in this process, what the responses of each model come to, for those whose end nobody sees. */
export class UsualOutputs {
  readonly #means = new Map<string, Mean>()

  /** A response came to its end, and its provider has reported its usage. */
  observe(model: string, { lines, outputTextBytes }: Pick<UsageReading, 'lines' | 'outputTextBytes'>): void {
    const output = lines[0]?.meters.output ?? 0
    if (output === 0) return
    const unseen = Math.max(0, output - outputTextBytes / bytesPerToken)
    const mean = this.#means.get(model)
    if (mean === undefined) {
      this.#forgetOldest()
      this.#means.set(model, { output, unseen, count: 1 })
      return
    }
    mean.count += 1
    const weight = Math.max(weightMin, 1 / mean.count)
    mean.output += (output - mean.output) * weight
    mean.unseen += (unseen - mean.unseen) * weight
  }

  /** Undefined for a model of which no response has come yet. */
  of(model: string): UsualOutput | undefined {
    return this.#means.get(model)
  }

  #forgetOldest(): void {
    if (this.#means.size < modelsMax) return
    const [oldest] = this.#means.keys()
    if (oldest !== undefined) this.#means.delete(oldest)
  }
}
