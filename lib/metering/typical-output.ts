/** Pairs of an account and a model that are remembered; who was not heard of for longest is forgotten first. */
const pairsMax = 20_000
/** What a new response counts beside those before it, once there are enough of them. */
const weightMin = 1 / 16

interface Mean {
  tokens: number
  count: number
}

/** Remembers, in this process, how much the responses of an account's calls of a model usually write. */
export class TypicalOutput {
  readonly #means = new Map<string, Mean>()

  /** A response was settled that wrote so many tokens, reasoning included. */
  observe(accountId: string, modelName: string, outputTokens: number): void {
    const pair = `${accountId} ${modelName}`
    const mean = this.#means.get(pair) ?? { tokens: 0, count: 0 }
    mean.count += 1
    mean.tokens += (outputTokens - mean.tokens) * Math.max(weightMin, 1 / mean.count)
    // A map keeps the order in which its keys came.
    this.#means.delete(pair)
    this.#means.set(pair, mean)
    if (this.#means.size <= pairsMax) return
    for (const oldest of this.#means.keys()) {
      this.#means.delete(oldest)
      return
    }
  }

  /** In tokens; undefined as long as nothing is known. */
  of(accountId: string, modelName: string): number | undefined {
    const mean = this.#means.get(`${accountId} ${modelName}`)
    return mean === undefined ? undefined : Math.ceil(mean.tokens)
  }
}
