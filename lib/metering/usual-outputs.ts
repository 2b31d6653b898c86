/** What an answer of a model has, in tokens. */
export interface OutputTokens {
  /** Reasoning included. */
  readonly output: number
  /** Billed as output and not shown: reasoning, for the most part. */
  readonly unseen: number
}

/** Models, and pairs of an account and a model, that are remembered; the one unused for longest is forgotten first. */
const namesMax = 20_000
/** How much a new response counts beside those before it, once there are enough of them. */
const weightMin = 1 / 32

interface Mean {
  output: number
  unseen: number
  count: number
}

/**
 * Remembers, in this process, what the answers of each model usually have: those to an account's own calls, for what
 * its next call likely costs, and those to everybody's, for a response whose end nobody sees.
 */
export class UsualOutputs {
  readonly #means = new Map<string, Mean>()

  /** A response has ended, and its provider has reported its usage. */
  observe(accountId: string, modelName: string, tokens: OutputTokens): void {
    if (tokens.output === 0) return
    this.#observe(modelName, tokens)
    this.#observe(pairOf(accountId, modelName), tokens)
  }

  /** Of an account's own calls; undefined as long as nothing is known. */
  ofAccount(accountId: string, modelName: string): OutputTokens | undefined {
    return whole(this.#means.get(pairOf(accountId, modelName)))
  }

  /** Of everybody's calls; undefined for a model of which no response has come yet. */
  ofModel(modelName: string): OutputTokens | undefined {
    return whole(this.#means.get(modelName))
  }

  #observe(name: string, { output, unseen }: OutputTokens): void {
    const mean = this.#means.get(name) ?? { output: 0, unseen: 0, count: 0 }
    mean.count += 1
    const weight = Math.max(weightMin, 1 / mean.count)
    mean.output += (output - mean.output) * weight
    mean.unseen += (unseen - mean.unseen) * weight
    // A map keeps the order in which its keys came.
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

/** No name of a model has a space in it, and no id of an account. */
function pairOf(accountId: string, modelName: string): string {
  return `${accountId} ${modelName}`
}
