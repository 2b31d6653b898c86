import { shownProvider, type Config, type ModelConfig } from '../../../config/config.ts'
import { ModelDirectory } from '../../../models/model-directory.ts'
import { canonicalPrice } from '../../../money/build-price.ts'
import { priceInForce, type Price } from '../../../money/price.ts'

/** A model that can be paid for. */
export interface PricedModel {
  readonly name: string
  /** Empty where customers are not told. */
  readonly provider: string
  /** Other names for it, and patterns that cost the same. */
  readonly aliases: string[]
  readonly price: Price
  /** Prices to come, the next one first. */
  readonly later: readonly Price[]
}

function priced(
  config: Config,
  { name, providers, prices }: ModelConfig,
  now: number,
): PricedModel | undefined {
  const provider = providers.find(one => config.providers.get(one)?.isOff === false)
  const price = priceInForce(prices, now)
  if (provider === undefined || price === undefined) return undefined
  const later = prices.filter(({ from }) => from !== undefined && Date.parse(from) > now)
  return { name, provider: shownProvider(config, provider) ?? '', aliases: [], price, later }
}

function isSamePrice(left: PricedModel, right: PricedModel): boolean {
  const text = ({ price, later }: PricedModel): string =>
    [price, ...later].map(one => canonicalPrice({ ...one, model: '' })).join()
  return left.provider === right.provider && text(left) === text(right)
}

/** `gpt-5-20*` is said with `gpt-5`, where it costs the same. */
function modelOf(pattern: PricedModel, models: ReadonlyMap<string, PricedModel>): PricedModel | undefined {
  const beginning = pattern.name.split('*', 1)[0] ?? ''
  let best: PricedModel | undefined
  for (const model of models.values()) {
    const isNearer = best === undefined || model.name.length > best.name.length
    if (isNearer && beginning.startsWith(model.name) && isSamePrice(model, pattern)) best = model
  }
  return best
}

/** The models of a config that have a price now and a provider that is on, as they are listed there. */
export function pricedModels(config: Config, now: number): readonly PricedModel[] {
  const models = new Map<string, PricedModel>()
  for (const entry of config.models.values()) {
    const model = priced(config, entry, now)
    if (model !== undefined) models.set(entry.name, model)
  }
  const patterns = new Map<string, PricedModel>()
  for (const entry of config.modelPatterns) {
    const pattern = priced(config, entry, now)
    if (pattern === undefined) continue
    const own = modelOf(pattern, models)
    if (own === undefined) patterns.set(entry.name, pattern)
    else {
      own.aliases.push(pattern.name)
      patterns.set(entry.name, own)
    }
  }
  const directory = new ModelDirectory(config)
  for (const alias of config.aliases.keys()) {
    const name = directory.resolve(alias, undefined)?.entry.name ?? ''
    const target = models.get(name) ?? patterns.get(name)
    target?.aliases.push(alias)
  }
  return [...new Set([...models.values(), ...patterns.values()])]
}
