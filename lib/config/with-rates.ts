import type { DatedRate } from '../money/pricing.ts'
import { priceVersions } from '../money/pricing.ts'
import type { Config, ModelConfig } from './config.ts'

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
