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

  add(line: UsageLine, details: Readonly<Record<string, number>>): void {
    const tokens = promptTokens(line.meters)
    const band = bounds.findIndex(bound => tokens <= bound)
    const key = JSON.stringify([line.model, line.tier, line.variant, band])
    const sum = this.#lines.get(key)
    this.#lines.set(
      key,
      sum === undefined
        ? { ...line, sumOf: 1 }
        : { ...sum, meters: addMeters(sum.meters, line.meters), sumOf: sum.sumOf + 1 },
    )
    for (const [name, units] of Object.entries(details)) addDetail(this.details, name, units)
  }

  lines(): readonly UsageLine[] {
    return [...this.#lines.values()]
  }
}
