import type { Config } from '../config/config.ts'
import { shareTokens } from '../metering/batch-cost.ts'
import { addMeters, type Meter, type Meters } from '../money/usage.ts'
import { pricedAt, type CostedShare } from './cost-of-share.ts'

/**
 * What one request of a batch is taken to read, and in `output` the most that can be written for it, by the models' names
 * at the provider: for results that do not tell. The empty name stands for the model of the first.
 */
export function eachRequest(
  shares: readonly CostedShare[],
  providerKind: string,
  contexts: Parameters<typeof pricedAt>[2],
  hold: Config['hold'],
): Readonly<Record<string, Meters>> {
  const sums = new Map<string, { readonly requests: number; readonly meters: Meters }>()
  for (const costed of shares) {
    const name = costed.model.upstreamName
    const { requests, meters } = sums.get(name) ?? { requests: 0, meters: {} }
    const tokens = shareTokens(pricedAt(costed, providerKind, contexts), hold)
    sums.set(name, { requests: requests + costed.share.requests, meters: addMeters(meters, tokens) })
  }
  const means = [...sums].map(([name, { requests, meters }]) => [name, meanOf(meters, requests)] as const)
  const [first] = means
  return Object.fromEntries(first === undefined ? [] : [['', first[1]], ...means])
}

function meanOf(sum: Meters, count: number): Meters {
  const mean: Meters = {}
  for (const [meter, units] of Object.entries(sum)) mean[meter as Meter] = Math.ceil(units / count)
  return mean
}
