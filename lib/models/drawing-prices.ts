import { priceInForce, type Price } from '../money/price.ts'
import type { ModelDirectory } from './model-directory.ts'

/** The prices of the models that a request's tools may draw with, as far as they have one. */
export function drawingPrices(
  drawsWith: readonly string[],
  startedAt: number,
  directory: ModelDirectory,
): ReadonlyMap<string, Price> {
  return new Map(
    drawsWith.flatMap(name => {
      const entry = directory.resolve(name, undefined)?.entry
      const price = entry && priceInForce(entry.prices, startedAt)
      return price === undefined ? [] : [[name, price] as const]
    }),
  )
}
