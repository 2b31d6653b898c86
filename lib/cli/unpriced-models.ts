import type { Config, ModelConfig } from '../config/config.ts'
import { priceInForce } from '../money/price.ts'
import { isServed } from './is-served.ts'

/** Of more models than these the rest are counted. */
const namedMax = 20

/**
 * What an operator should know of models that have no price, or none yet: a request that would cost something
 * is refused. Undefined where there are none, and where nothing is charged anyway.
 */
export function unpricedModels(config: Config, now: number): string | undefined {
  const names = [...config.models.values(), ...config.modelPatterns]
    .filter(model => isServed(config, model) && !hasPrice(model, now))
    .map(model => model.name)
  if (config.unmetered || names.length === 0) return undefined
  const others = names.length > namedMax ? ` and ${names.length - namedMax} more` : ''
  return `models without a price are refused where they would cost: ${names.slice(0, namedMax).join(', ')}${others}`
}

function hasPrice({ prices }: ModelConfig, now: number): boolean {
  const price = priceInForce(prices, now)
  if (price === undefined) return false
  return Object.keys(price.rubPerMillion).length > 0 || Object.keys(price.rubPerUnit).length > 0
}
