import type { Config, ModelConfig } from '../config/config.ts'
import { priceInForce, type Price } from '../money/price.ts'
import { isServed } from './is-served.ts'

/** Of more models than these the rest are counted. */
const namedMax = 20

/**
 * What an operator should know of prices that are not there, or not yet: what a request is refused for, and what
 * it has for nothing. Empty where nothing is charged anyway.
 */
export function priceNotices(config: Config, now: number): readonly string[] {
  if (config.unmetered) return []
  const served = [...config.models.values(), ...config.modelPatterns].filter(model => isServed(config, model))
  const named = (is: (price: Price | undefined) => boolean): string | undefined =>
    listed(served.filter(({ prices }) => is(priceInForce(prices, now))))
  const unpriced = named(price => price === undefined || isEmpty(price))
  const halfPriced = named(price => price !== undefined && !isEmpty(price) && isInputFree(price))
  return [
    ...(unpriced === undefined
      ? []
      : [`models without a price are refused where they would cost: ${unpriced}`]),
    ...(halfPriced === undefined
      ? []
      : [`models with a price for output tokens and none for input, which is free then: ${halfPriced}`]),
  ]
}

function isEmpty({ rubPerMillion, rubPerUnit }: Price): boolean {
  return Object.keys(rubPerMillion).length === 0 && Object.keys(rubPerUnit).length === 0
}

/** What is paid by the piece may well have its prompt for nothing. */
function isInputFree({ rubPerMillion, rubPerUnit }: Price): boolean {
  const { input, output } = rubPerMillion
  return output !== undefined && input === undefined && Object.keys(rubPerUnit).length === 0
}

function listed(models: readonly Pick<ModelConfig, 'name'>[]): string | undefined {
  if (models.length === 0) return undefined
  const names = models.slice(0, namedMax).map(({ name }) => name)
  const others = models.length > namedMax ? ` and ${models.length - namedMax} more` : ''
  return `${names.join(', ')}${others}`
}
