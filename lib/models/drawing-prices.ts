import type { RequestFacts } from '../dialects/dialect.ts'
import type { Target } from '../exchange-facts.ts'
import { priceInForce } from '../money/price.ts'
import type { ModelDirectory } from './model-directory.ts'

/** The prices of the models that a request's tools may draw with, as far as they have one. */
export function drawingPrices(
  { drawsWith }: RequestFacts,
  startedAt: number,
  directory: ModelDirectory,
): Target['drawing'] {
  if (drawsWith === undefined) return undefined
  return new Map(
    drawsWith.flatMap(name => {
      const entry = directory.resolve(name, undefined)?.entry
      const price = entry && priceInForce(entry.prices, startedAt)
      return price === undefined ? [] : [[name, price] as const]
    }),
  )
}
