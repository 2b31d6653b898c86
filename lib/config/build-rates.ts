import type { z } from 'zod'
import type { Config, ModelConfig } from './config.ts'
import { rateFeedSchema } from './pricing-schema.ts'
import type { Settings } from './schema.ts'
import { priceVersions, type DatedRate } from '../money/pricing.ts'

/** Where the Central Bank's rates are from, and by how many percent one may differ from the one before. */
export type RateFeed = z.output<typeof rateFeedSchema>

/**
 * The feed of rates, where any price follows it: as the section `prices` names it, or the usual one where only a provider
 * or a model follows the rate.
 */
export function buildRates(
  { usdRub }: Settings['prices'],
  { models, modelPatterns }: Pick<Config, 'models' | 'modelPatterns'>,
): { readonly rates?: RateFeed } {
  const follows = [...models.values(), ...modelPatterns].some(
    ({ list }) => list !== undefined && typeof list.usdRub !== 'string',
  )
  if (!follows) return {}
  if (typeof usdRub === 'string') return { rates: rateFeedSchema.parse({}) }
  const { changePercentMax, url, egress } = usdRub
  return { rates: { changePercentMax, url, ...(egress !== undefined && { egress }) } }
}

/** The config with the prices that follow from the Central Bank's rates; all else stays as it is. */
export function withRates(config: Config, rates: readonly DatedRate[]): Config {
  const priced = (model: ModelConfig): ModelConfig => {
    const { list } = model
    if (list === undefined || typeof list.usdRub === 'string') return model
    return { ...model, prices: priceVersions(model.name, list, rates) }
  }
  return {
    ...config,
    models: new Map([...config.models].map(([name, model]) => [name, priced(model)])),
    modelPatterns: config.modelPatterns.map(priced),
  }
}
