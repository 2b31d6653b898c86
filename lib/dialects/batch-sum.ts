import { promptTokens } from '../money/price-line.ts'
import { addMeters } from '../money/usage.ts'
import type { UsageLine } from '../money/usage.ts'
import { addDetail } from './measure.ts'

/**
 * Prompt lengths at which prices of providers change, and some between. Requests are summed within these
 * bounds, so that each sum has one level of a price.
 */
const bounds = [32_000, 64_000, 128_000, 200_000, 256_000, 272_000, 400_000, 512_000, 1_000_000]

/** The usage of a batch's requests, summed by model, tier and length of prompt: a few lines for thousands. */
export class BatchSum {
  readonly details: Record<string, number> = {}
  readonly #lines = new Map<string, UsageLine & { readonly sumOf: number }>()
  readonly #searches = new Map<string | undefined, number>()

  /** Adds what one request used of one model. */
  add({ meters, ...line }: UsageLine, details: Readonly<Record<string, number>>): void {
    const { searches, ...tokens } = meters
    if (searches !== undefined) this.addSearches(line.model, searches)
    const length = promptTokens(tokens)
    const band = bounds.findIndex(bound => length <= bound)
    const key = JSON.stringify([line.model, line.tier, line.variant, band])
    const sum = this.#lines.get(key)
    this.#lines.set(key, {
      ...line,
      meters: addMeters(tokens, sum?.meters),
      sumOf: (sum?.sumOf ?? 0) + 1,
    })
    for (const [name, units] of Object.entries(details)) addDetail(this.details, name, units)
  }

  /** Searches are no part of a prompt, and batches have a discount on tokens only, so they stand apart. */
  addSearches(model: string | undefined, searches: number): void {
    if (searches > 0) this.#searches.set(model, (this.#searches.get(model) ?? 0) + searches)
  }

  lines(): readonly UsageLine[] {
    const searches = [...this.#searches].map(([model, count]): UsageLine => ({
      ...(model !== undefined && { model }),
      meters: { searches: count },
    }))
    return [...this.#lines.values(), ...searches]
  }
}
