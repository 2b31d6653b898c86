import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import type { ModelCost } from '../ledger/reports.ts'
import type { DatedRate } from '../money/pricing.ts'
import { priceInForce, type Decimal, type Price } from '../money/price.ts'
import type { PriceRow } from './list-price.ts'

/** The previewed values of the section `prices`. */
export interface PreviewedPrices {
  readonly usdRub?: Decimal
  readonly coefficient?: Decimal
}

/** A price that would change, in roubles. */
export interface PreviewedChange {
  readonly model: string
  readonly meter: string
  readonly unit: PriceRow['unit']
  readonly before: Decimal
  readonly after: Decimal
}

/** The result of a preview: the changes, or why they are impossible or not trusted. */
export type PricePreview =
  | {
      readonly changes: readonly PreviewedChange[]
      /** The recomputed cost of the last 30 days, for models that change; undefined: too many charges to count. */
      readonly costs: readonly ModelCost[] | undefined
    }
  | { readonly busy: true }
  | { readonly jump: PreviewedChange }
  /** The errors in the files of the configuration. */
  | { readonly wrong: string }

/** The input of the preview's thread. */
export interface PreviewJob {
  readonly file: string
  readonly store: Config['store']
  readonly prices: PreviewedPrices
  readonly rates: readonly DatedRate[]
  /** The prices in force, by the model's entry. */
  readonly before: ReadonlyMap<string, Price>
  readonly now: number
  readonly since: number
}

/** The thread's messages: first the changes, then the recomputed charges. */
export type PreviewMessage = PricePreview | { readonly costs: readonly ModelCost[] }

// In a compiled build the thread's file is a .js file, like this one.
const workerUrl = new URL(`./price-preview-worker${extname(import.meta.url)}`, import.meta.url)
const lookedBackMs = 30 * 86_400_000
const waitMsDefault = 30_000

/**
 * Computes the effect of other prices, and changes nothing. A thread of its own reads the files and prices the charges,
 * one preview at a time, so that no client request waits for it.
 */
export class PricePreviews {
  readonly #waitMs: number
  #isBusy = false

  /** @param waitMs the time limit for counting charges */
  constructor(waitMs = waitMsDefault) {
    this.#waitMs = waitMs
  }

  /**
   * @param config the config in force
   * @param rates the Central Bank's, as far as known
   */
  async preview(
    config: Config,
    prices: PreviewedPrices,
    { rates, now }: { readonly rates: readonly DatedRate[]; readonly now: number },
  ): Promise<PricePreview> {
    if (this.#isBusy) return { busy: true }
    this.#isBusy = true
    const { file, store } = config
    const before = new Map<string, Price>()
    for (const model of [...config.models.values(), ...config.modelPatterns]) {
      const price = priceInForce(model.prices, now)
      if (price !== undefined) before.set(model.name, price)
    }
    const workerData: PreviewJob = { file, store, prices, rates, before, now, since: now - lookedBackMs }
    const worker = new Worker(workerUrl, {
      workerData,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    try {
      return await this.#resultOf(worker)
    } finally {
      await worker.terminate()
      this.#isBusy = false
    }
  }

  #resultOf(worker: Worker): Promise<PricePreview> {
    const { promise, resolve, reject } = Promise.withResolvers<PricePreview>()
    let changes: readonly PreviewedChange[] | undefined
    const timer = setTimeout(() => {
      if (changes === undefined) reject(new Error(`a preview of prices took over ${this.#waitMs} ms`))
      else resolve({ changes, costs: undefined })
    }, this.#waitMs)
    worker.on('message', (message: PreviewMessage) => {
      if ('changes' in message) changes = message.changes
      else if ('costs' in message) resolve({ changes: changes ?? [], costs: message.costs })
      else resolve(message)
    })
    worker.on('error', error => reject(new Error('a preview of prices failed', { cause: error })))
    worker.on('exit', () => reject(new Error('a preview of prices ended')))
    return promise.finally(() => clearTimeout(timer))
  }
}
