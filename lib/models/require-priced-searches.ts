import type { RequestFacts } from '../dialects/dialect.ts'
import { boundOf } from '../dialects/provider-tools.ts'
import type { Price } from '../money/price.ts'
import { GatewayError } from '../pipeline/errors.ts'

/** A search is paid for by one of these: by itself, with its request, or as its provider states what it cost. */
const payingMeters = ['searches', 'requests', 'statedUsd'] as const

/**
 * Tools that search have a fee for each use, which is the house's where it has no price.
 * @throws GatewayError not_supported
 */
export function requirePricedSearches(
  tools: RequestFacts['tools'],
  price: Price,
  providerKind: string,
): void {
  const tool = tools?.find(one => boundOf(one, providerKind).isSearch === true)
  if (tool === undefined || payingMeters.some(meter => isPriced(price, meter))) return
  throw new GatewayError(
    'not_supported',
    `A search has no price for this model here, so nothing that may search (${tool.type}) is run for it. The operator sets one: rubPerUnit or usdPerUnit, "searches", which may be "0".`,
    { param: tool.type === 'prompt' ? 'prompt' : 'tools' },
  )
}

function isPriced({ rubPerMillion, rubPerUnit }: Price, meter: (typeof payingMeters)[number]): boolean {
  if (rubPerMillion[meter] !== undefined) return true
  return Object.keys(rubPerUnit).some(name => name === meter || name.startsWith(`${meter}/`))
}
