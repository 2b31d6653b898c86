import { z } from 'zod'
import { exactNames, genaiPrices, type GenaiModel } from './genai-prices.ts'
import { listPrice, type ListPrice } from './list-price.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** A list that cannot be read, or whose prices must not be used. */
export class PriceListError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'PriceListError'
  }
}

/** A published list of models' prices. */
export interface PriceList {
  readonly source: 'genai-prices' | 'LiteLLM' | 'models.dev'
  /**
   * The versions of a model's price, oldest first, by the first of its names that is in the list.
   * @param provider a known provider
   * @throws PriceListError when the list's entry cannot be read
   */
  find(provider: string, names: readonly string[]): readonly ListPrice[] | undefined
}

/**
 * Reads a list in one of the known formats: genai-prices' data.json, LiteLLM's model_prices_and_context_window.json,
 * models.dev's api.json. An entry is read on request, so that errors in other models' entries do no harm.
 * @throws PriceListError for anything else
 */
export function readPriceList(text: string): PriceList {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new PriceListError(`is no JSON: ${reason}`, { cause: error })
  }
  const genai = genaiSchema.safeParse(value)
  if (genai.success) return genaiList(genai.data)
  const entries = z.record(z.string(), z.looseObject({})).safeParse(value)
  if (entries.success) {
    const all = Object.entries(entries.data)
    if (all.some(([, entry]) => typeof entry['litellm_provider'] === 'string')) return liteLlmList(all)
    const providers = z.record(z.string(), modelsDevProvider).safeParse(value)
    if (providers.success && all.length > 0) return modelsDevList(providers.data)
  }
  throw new PriceListError(
    "is no price list that is known: genai-prices' data.json, LiteLLM's model_prices_and_context_window.json or " +
      "models.dev's api.json",
  )
}

function foundBy<T>(
  source: PriceList['source'],
  entries: ReadonlyMap<string, T>,
  read: (entry: T, name: string) => readonly ListPrice[] | undefined,
): PriceList {
  return {
    source,
    find(provider, names) {
      for (const name of names) {
        for (const alias of knownProvider(provider).priceListNames?.[source] ?? [provider]) {
          const entry = entries.get(`${alias}/${name}`)
          const prices = entry === undefined ? undefined : read(entry, name)
          if (prices !== undefined) return prices
        }
      }
      return undefined
    },
  }
}

const genaiSchema = z
  .array(
    z.looseObject({
      id: z.string(),
      models: z.array(z.looseObject({ id: z.string(), match: z.looseObject({}), prices: z.unknown() })),
    }),
  )
  .min(1)

const genaiPrice = z.record(
  z.string(),
  z.union([
    z.number(),
    z.looseObject({
      base: z.number(),
      tiers: z.array(z.looseObject({ start: z.int().min(0), price: z.number() })),
    }),
  ]),
)
const genaiConstraint = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('start_date'), start_date: z.iso.date() }),
  z.looseObject({ type: z.literal('time_of_date') }),
])
const genaiModelPrices = z.union([
  z.array(z.looseObject({ constraint: genaiConstraint.exactOptional(), prices: genaiPrice })).min(1),
  genaiPrice,
])

function genaiList(providers: z.output<typeof genaiSchema>): PriceList {
  const models = providers.flatMap(({ id, models: own }) =>
    own.flatMap(model => {
      const info = model as unknown as GenaiModel
      return exactNames(info).map(name => [`${id}/${name}`, info] as const)
    }),
  )
  return foundBy('genai-prices', new Map(models.toReversed()), ({ prices }, name) => {
    const read = genaiModelPrices.safeParse(prices)
    if (!read.success) throw new PriceListError(`has a price of ${name} that cannot be read`)
    return genaiPrices(read.data)
  })
}

/** LiteLLM's names of prices, the meter here, and how many of LiteLLM's units the price here covers. */
const liteLlmMillion: readonly (readonly [key: string, meter: string])[] = [
  ['input_cost_per_token', 'input'],
  ['cache_read_input_token_cost', 'cachedInput'],
  ['cache_creation_input_token_cost', 'cacheWrite5m'],
  ['input_cost_per_audio_token', 'audioInput'],
  ['cache_read_input_audio_token_cost', 'cachedAudioInput'],
  ['input_cost_per_image_token', 'imageInput'],
  ['output_cost_per_token', 'output'],
  ['output_cost_per_audio_token', 'audioOutput'],
  ['output_cost_per_image_token', 'imageOutput'],
]
const aboveTokens = /_above_(\d{1,7})k_tokens$/

function liteLlmList(entries: readonly (readonly [string, Readonly<Record<string, unknown>>])[]): PriceList {
  const models = entries.flatMap(([key, entry]) => {
    const provider = entry['litellm_provider']
    if (typeof provider !== 'string') return []
    const name = key.startsWith(`${provider}/`) ? key.slice(provider.length + 1) : key
    return [[`${provider}/${name}`, entry] as const]
  })
  return foundBy('LiteLLM', new Map(models), (entry, name) => {
    const amount = (key: string, units: number): number | undefined => numberAt(entry, key, name, units)
    const perMillion = present(
      liteLlmMillion.map(([key, meter]) => [meter, amount(key, 1e6)] as const),
      ['cacheWrite1h', amount('cache_creation_input_token_cost_above_1hr', 1e6)],
    )
    const perUnit = present([['audioSeconds', amount('input_cost_per_second', 1)]])
    const levels = new Set(Object.keys(entry).flatMap(key => aboveTokens.exec(key)?.[1] ?? []))
    const above = new Map(
      [...levels].map(level => {
        const prices = liteLlmMillion.map(
          ([key, meter]) => [meter, amount(`${key}_above_${level}k_tokens`, 1e6)] as const,
        )
        return [Number(level) * 1000, present(prices)] as const
      }),
    )
    return perMillion.size + perUnit.size === 0 ? undefined : [listPrice({ perMillion, perUnit, above })]
  })
}

const modelsDevCost = z.looseObject({})
const modelsDevProvider = z.looseObject({
  models: z.record(z.string(), z.looseObject({ cost: modelsDevCost.nullish() })),
})

const modelsDevMillion: readonly (readonly [key: string, meter: string])[] = [
  ['input', 'input'],
  ['cache_read', 'cachedInput'],
  ['cache_write', 'cacheWrite5m'],
  ['input_audio', 'audioInput'],
  ['output', 'output'],
  ['output_audio', 'audioOutput'],
]
const modelsDevTiers = z.array(
  z.looseObject({ tier: z.looseObject({ type: z.string(), size: z.int().min(1) }) }),
)

function modelsDevList(providers: Readonly<Record<string, z.output<typeof modelsDevProvider>>>): PriceList {
  const models = Object.entries(providers).flatMap(([provider, { models: own }]) =>
    Object.entries(own).map(([name, { cost }]) => [`${provider}/${name}`, cost ?? {}] as const),
  )
  return foundBy('models.dev', new Map(models), (cost, name) => {
    const prices = (of: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> =>
      present(modelsDevMillion.map(([key, meter]) => [meter, numberAt(of, key, name, 1)] as const))
    const perMillion = prices(cost)
    if (perMillion.size === 0) return undefined
    const tiers = modelsDevTiers.safeParse(cost['tiers'] ?? [])
    const over = modelsDevCost.safeParse(cost['context_over_200k'] ?? undefined)
    if (!tiers.success) throw new PriceListError(`has levels of ${name} that cannot be read`)
    const byLength = tiers.data.filter(({ tier }) => tier.type === 'context')
    const above = byLength.map(level => [level.tier.size, prices(level)] as const)
    // The older form of the same levels; if both are present, the levels are more exact.
    if (above.length === 0 && over.success) above.push([200_000, prices(over.data)])
    return [listPrice({ perMillion, perUnit: new Map(), above: new Map(above) })]
  })
}

/** @throws PriceListError for a value that is not a number */
function numberAt(
  entry: Readonly<Record<string, unknown>>,
  key: string,
  model: string,
  units: number,
): number | undefined {
  const value = entry[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value)) return value * units
  throw new PriceListError(`has a ${key} of ${model} that is no number: ${JSON.stringify(value)}`)
}

function present(
  prices: readonly (readonly [string, number | undefined])[],
  ...more: readonly (readonly [string, number | undefined])[]
): ReadonlyMap<string, number> {
  return new Map(
    [...prices, ...more].flatMap(([meter, price]) => (price === undefined ? [] : [[meter, price]])),
  )
}
