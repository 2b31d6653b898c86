/** The output of a model's response, in tokens. */
export interface OutputTokens {
  /** Reasoning included. */
  readonly output: number
  /** Billed as output and not shown: mostly reasoning. */
  readonly unseen: number
}

/** How many models, and pairs of an account and a model, are remembered; the least recently used is forgotten first. */
const namesMax = 20_000
/** The weight of a new response against earlier ones, once there are enough of them. */
const weightMin = 1 / 32

interface Mean {
  output: number
  unseen: number
  count: number
}

/**
 * Remembers, in this process, the usual output of each model: per account, for the likely cost of the account's next
 * call, and over all accounts, for a response whose end is not seen.
 */
export class UsualOutputs {
  readonly #means = new Map<string, Mean>()

  /** Called when a response has ended, and its provider has reported its usage. */
  observe(accountId: string, modelName: string, tokens: OutputTokens): void {
    if (tokens.output === 0) return
    this.#observe(modelName, tokens)
    this.#observe(pairOf(accountId, modelName), tokens)
  }

  /** For an account's own calls; undefined as long as there are none. */
  ofAccount(accountId: string, modelName: string): OutputTokens | undefined {
    return whole(this.#means.get(pairOf(accountId, modelName)))
  }

  /** For the calls of all accounts; undefined for a model without any response yet. */
  ofModel(modelName: string): OutputTokens | undefined {
    return whole(this.#means.get(modelName))
  }

  #observe(name: string, { output, unseen }: OutputTokens): void {
    const mean = this.#means.get(name) ?? { output: 0, unseen: 0, count: 0 }
    mean.count += 1
    const weight = Math.max(weightMin, 1 / mean.count)
    mean.output += (output - mean.output) * weight
    mean.unseen += (unseen - mean.unseen) * weight
    // A map keeps insertion order.
    this.#means.delete(name)
    this.#means.set(name, mean)
    if (this.#means.size <= namesMax) return
    for (const oldest of this.#means.keys()) {
      this.#means.delete(oldest)
      return
    }
  }
}

function whole(mean: Mean | undefined): OutputTokens | undefined {
  return mean && { output: Math.ceil(mean.output), unseen: Math.ceil(mean.unseen) }
}

/** Neither names of models nor ids of accounts contain spaces. */
function pairOf(accountId: string, modelName: string): string {
  return `${accountId} ${modelName}`
}
