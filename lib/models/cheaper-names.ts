import type { Config, ModelConfig } from '../config/config.ts'
import { parseDecimal } from '../money/decimal.ts'
import { priceInForce, type Decimal, type Price } from '../money/price.ts'
import type { Meter } from '../money/usage.ts'

/** A dated name or a pattern that costs less than the model that it names. */
interface CheaperName {
  readonly name: string
  readonly model: string
  /** Roubles for a million units; `rub` is undefined if they are not charged. */
  readonly meters: readonly {
    readonly meter: string
    readonly rub: Decimal | undefined
    readonly modelRub: Decimal
  }[]
}

/** Suffixes of a model's name that still name the same model: a date, a version, or a pattern. */
const sameModel = /^(?:\*|-(?:20\d\d[\d-]*\*?|\d{4}|20\*|0?\*|latest|preview(?:-[\d*-]*)?\*?))$/

/**
 * The names by which a model costs less than by its own: the operator's price of `gpt-5` should apply to
 * `gpt-5-2025-08-07` too.
 */
export function cheaperNames(
  { models }: Pick<Config, 'models'>,
  served: readonly ModelConfig[],
  now: number,
): readonly CheaperName[] {
  return served.flatMap(({ name, prices }) => {
    const model = modelOf(name, models)
    const price = priceInForce(prices, now)
    const modelPrice = model && priceInForce(model.prices, now)
    if (model === undefined || price === undefined || modelPrice === undefined) return []
    const meters = cheaperMeters(price, modelPrice)
    return meters.length === 0 ? [] : [{ name, model: model.name, meters }]
  })
}

function modelOf(name: string, models: Config['models']): ModelConfig | undefined {
  for (let length = name.length - 1; length > 0; length -= 1) {
    const model = models.get(name.slice(0, length))
    if (model !== undefined) return sameModel.test(name.slice(length)) ? model : undefined
  }
  return undefined
}

function cheaperMeters(price: Price, model: Price): CheaperName['meters'] {
  return Object.entries(model.rubPerMillion).flatMap(([meter, modelRub]) => {
    const rub = price.rubPerMillion[meter as Meter]
    const isCheaper = parseDecimal(rub ?? '0') < parseDecimal(modelRub)
    return isCheaper ? [{ meter, rub, modelRub }] : []
  })
}
