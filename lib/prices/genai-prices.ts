import { listPrice, type ListPrice } from './list-price.ts'

type MatchLogic =
  | { readonly and: readonly MatchLogic[] }
  | { readonly or: readonly MatchLogic[] }
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }

interface TieredPrice {
  readonly base: number
  readonly tiers: readonly { readonly start: number; readonly price: number }[]
}

/** Prices by the source's names of meters. */
type ModelPrice = Readonly<Record<string, number | TieredPrice | undefined>>

interface ConditionalPrice {
  readonly constraint?:
    | { readonly type: 'start_date'; readonly start_date: string }
    | { readonly type: 'time_of_date' }
  readonly prices: ModelPrice
}

/** A model in @pydantic/genai-prices, in the package and in the file published with it. */
export interface GenaiModel {
  readonly id: string
  readonly match: MatchLogic
  readonly prices: ModelPrice | readonly ConditionalPrice[]
}

/** The source's names of meters priced by the million, and the meters here. */
const perMillion: ReadonlyMap<string, string> = new Map([
  ['input_mtok', 'input'],
  ['cache_read_mtok', 'cachedInput'],
  ['cache_write_mtok', 'cacheWrite5m'],
  ['cache_write_1h_mtok', 'cacheWrite1h'],
  ['input_audio_mtok', 'audioInput'],
  ['cache_audio_read_mtok', 'cachedAudioInput'],
  ['input_image_mtok', 'imageInput'],
  ['output_mtok', 'output'],
  ['output_audio_mtok', 'audioOutput'],
  ['output_image_mtok', 'imageOutput'],
])

/** The same for meters priced by other counts, with the units in one of those. */
const perCount: ReadonlyMap<string, readonly [meter: string, units: number]> = new Map([
  ['web_searches_kcount', ['searches', 1000]],
  ['requests_kcount', ['requests', 1000]],
  ['input_audio_hours', ['audioSeconds', 3600]],
])

/** The versions of a price, oldest first. For a day with several prices the highest of each meter counts. */
export function genaiPrices(prices: GenaiModel['prices']): readonly ListPrice[] {
  if (!isConditional(prices)) return [oneListPrice(prices)]
  const versions: { from: string | undefined; price: ModelPrice }[] = []
  for (const { constraint, prices: price } of prices) {
    const last = versions.at(-1)
    if (constraint?.type === 'time_of_date' && last !== undefined) last.price = highest(last.price, price)
    else versions.push({ from: constraint?.type === 'start_date' ? constraint.start_date : undefined, price })
  }
  return versions.map(({ from, price }) => ({ ...(from !== undefined && { from }), ...oneListPrice(price) }))
}

function isConditional(prices: GenaiModel['prices']): prices is readonly ConditionalPrice[] {
  return Array.isArray(prices)
}

function highest(left: ModelPrice, right: ModelPrice): ModelPrice {
  const merged: Record<string, number | TieredPrice | undefined> = { ...left }
  for (const [unit, price] of Object.entries(right)) {
    if (base(price) > base(merged[unit])) merged[unit] = price
  }
  return merged
}

function base(price: number | TieredPrice | undefined): number {
  return typeof price === 'object' ? price.base : (price ?? 0)
}

function oneListPrice(price: ModelPrice): ListPrice {
  const million = new Map<string, number>()
  const unit = new Map<string, number>()
  const above = new Map<number, Map<string, number>>()
  for (const [name, value] of Object.entries(price)) {
    const counted = perCount.get(name)
    if (counted !== undefined) unit.set(counted[0], base(value) / counted[1])
    const meter = perMillion.get(name)
    if (meter === undefined || value === undefined) continue
    million.set(meter, base(value))
    for (const { start, price: higher } of typeof value === 'object' ? value.tiers : [])
      above.set(start, new Map([...(above.get(start) ?? []), [meter, higher]]))
  }
  return listPrice({ perMillion: million, perUnit: unit, above })
}

/** The names of a model that the source lists. */
export function exactNames({ id, match }: GenaiModel): readonly string[] {
  return [...new Set([...(isMatch(match, id) ? [id] : []), ...equalNames(match)])]
}

function equalNames(logic: MatchLogic): readonly string[] {
  if ('or' in logic) return logic.or.flatMap(equalNames)
  return 'equals' in logic ? [logic.equals] : []
}

/** Whether the source matches a name to a model. */
export function isMatch(logic: MatchLogic, name: string): boolean {
  if ('and' in logic) return logic.and.every(one => isMatch(one, name))
  if ('or' in logic) return logic.or.some(one => isMatch(one, name))
  if ('equals' in logic) return name === logic.equals
  if ('starts_with' in logic) return name.startsWith(logic.starts_with)
  if ('ends_with' in logic) return name.endsWith(logic.ends_with)
  if ('contains' in logic) return name.includes(logic.contains)
  return new RegExp(logic.regex).test(name)
}
