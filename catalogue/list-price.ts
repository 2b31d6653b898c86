import type { ConditionalPrice, ModelPrice } from '@pydantic/genai-prices'

type Decimals = Record<string, string>

/** A provider's list price in dollars, as the config writes prices. */
export interface ListPrice {
  readonly from?: string
  readonly usdPerMillion?: Decimals
  readonly usdPerUnit?: Decimals
  readonly above?: readonly {
    readonly inputTokens: number
    readonly mode: 'whole'
    readonly usdPerMillion: Decimals
  }[]
  readonly factors?: Readonly<Record<string, string>>
}

/** The source's names of what is priced by the million, and our meters. */
const perMillion: Readonly<Record<string, string>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cachedInput',
  cache_write_mtok: 'cacheWrite5m',
  cache_write_1h_mtok: 'cacheWrite1h',
  input_audio_mtok: 'audioInput',
  cache_audio_read_mtok: 'cachedAudioInput',
  input_image_mtok: 'imageInput',
  output_mtok: 'output',
  output_audio_mtok: 'audioOutput',
  output_image_mtok: 'imageOutput',
}

/** The same of what is priced by other counts, and how many units one of those is. */
const perCount: Readonly<Record<string, readonly [meter: string, units: number]>> = {
  web_searches_kcount: ['searches', 1000],
  requests_kcount: ['requests', 1000],
  input_audio_hours: ['audioSeconds', 3600],
}

/** The versions of a price, oldest first. Of a day with several prices the highest of each meter counts. */
export function listPrices(prices: ModelPrice | ConditionalPrice[]): readonly ListPrice[] {
  if (!Array.isArray(prices)) return [oneListPrice(prices)]
  const versions: { from: string | undefined; price: ModelPrice }[] = []
  for (const { constraint, prices: price } of prices) {
    const last = versions.at(-1)
    if (constraint?.type === 'time_of_date' && last !== undefined) last.price = highest(last.price, price)
    else versions.push({ from: constraint?.type === 'start_date' ? constraint.start_date : undefined, price })
  }
  return versions.map(({ from, price }) => ({ ...(from !== undefined && { from }), ...oneListPrice(price) }))
}

function highest(left: ModelPrice, right: ModelPrice): ModelPrice {
  const merged: ModelPrice = { ...left }
  for (const [unit, price] of Object.entries(right)) {
    if (base(price) > base(merged[unit])) merged[unit] = price
  }
  return merged
}

function base(price: ModelPrice[string]): number {
  return typeof price === 'object' ? price.base : (price ?? 0)
}

function oneListPrice(price: ModelPrice): ListPrice {
  const usdPerMillion: Decimals = {}
  const usdPerUnit: Decimals = {}
  const tiers = new Map<number, Decimals>()
  for (const [unit, value] of Object.entries(price)) {
    const counted = perCount[unit]
    if (counted !== undefined) usdPerUnit[counted[0]] = decimal(base(value) / counted[1])
    const meter = perMillion[unit]
    if (meter === undefined || value === undefined) continue
    usdPerMillion[meter] = decimal(base(value))
    for (const { start, price: above } of typeof value === 'object' ? value.tiers : []) {
      tiers.set(start, { ...tiers.get(start), [meter]: decimal(above) })
    }
  }
  const above = [...tiers].map(([inputTokens, table]) => ({
    inputTokens,
    mode: 'whole' as const,
    usdPerMillion: table,
  }))
  return {
    ...(Object.keys(usdPerMillion).length > 0 && { usdPerMillion }),
    ...(Object.keys(usdPerUnit).length > 0 && { usdPerUnit }),
    ...(above.length > 0 && { above }),
  }
}

/** The config's prices have nine decimals. What has more is rounded up: nothing is sold below its cost. */
function decimal(price: number): string {
  const exact = Number(price.toFixed(12))
  const rounded = exact.toFixed(9)
  const isBelow = Number(rounded) < exact
  return (isBelow ? (exact + 1e-9).toFixed(9) : rounded).replace(/\.?0+$/, '')
}
