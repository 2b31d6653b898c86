import type { Layer } from './layers.ts'
import { metersWithFallback } from '../money/price.ts'
import { priceKeys } from './model-schema.ts'
import { isMapping } from './config-error.ts'

/** A price that combines what an operator wrote with what an included file has. */
export interface MixedPrice {
  readonly model: string
  /** Meters that the operator's price lacks and an included file prices, with that file. */
  readonly inherited: readonly { readonly meter: string; readonly file: string }[]
  /** Meters of the list price that the price in roubles lacks: they are not charged. */
  readonly lacking: readonly string[]
}

const tables = ['rubPerMillion', 'rubPerUnit', 'usdPerMillion', 'usdPerUnit'] as const
/**
 * Models whose price comes from more than one file, or whose price in roubles covers only some meters of the list
 * price.
 */
export function mixedPrices(layers: readonly Layer[]): readonly MixedPrice[] {
  const found: MixedPrice[] = []
  const names = new Set(layers.slice(1).flatMap(layer => Object.keys(modelsOf(layer))))
  for (const model of names) {
    const entries = layers.flatMap(layer => {
      const entry = modelsOf(layer)[model]
      return isMapping(entry) && tables.some(table => isMapping(entry[table]))
        ? [{ file: layer.file, entry }]
        : []
    })
    if (entries.length < 2) continue
    const mixed = { model, inherited: inheritedMeters(entries), lacking: lackingMeters(entries) }
    if (mixed.inherited.length > 0 || mixed.lacking.length > 0) found.push(mixed)
  }
  return found
}

/** The models that an operator's files set. Files in JSON are price lists, the others are the operator's. */
export function ownModels(layers: readonly Layer[]): ReadonlySet<string> {
  return new Set(
    layers.filter(({ file }) => !file.endsWith('.json')).flatMap(layer => Object.keys(modelsOf(layer))),
  )
}

/** The origin of a model's price: a price list, the operator, or the model that `like` names. */
export type PriceOrigin = 'list' | 'own' | 'like'

/** By model. A price is the operator's when it is set in a file that is not a price list. */
export function priceOrigins(layers: readonly Layer[]): ReadonlyMap<string, PriceOrigin> {
  const origins = new Map<string, PriceOrigin>()
  for (const layer of layers) {
    const isList = layer.file.endsWith('.json')
    for (const [model, entry] of Object.entries(modelsOf(layer))) {
      if (!isMapping(entry)) continue
      const isPriced = priceKeys.some(key => entry[key] !== undefined)
      const before = origins.get(model)
      if (isPriced && !isList) origins.set(model, 'own')
      else if (before === undefined || (isPriced && before === 'like')) {
        origins.set(model, isPriced || entry['like'] === undefined ? 'list' : 'like')
      }
    }
  }
  return origins
}

type Entry = Readonly<Record<string, unknown>>

interface WrittenEntry {
  readonly file: string
  readonly entry: Entry
}

function modelsOf({ value }: Layer): Entry {
  const { models } = value
  return isMapping(models) ? models : {}
}

function metersOf(entry: Entry, table: string): readonly string[] {
  const meters = entry[table]
  return isMapping(meters) ? Object.keys(meters) : []
}

/** Meters of tables that the highest-precedence file sets in part. */
function inheritedMeters(entries: readonly WrittenEntry[]): MixedPrice['inherited'] {
  const own = entries.at(-1)?.entry ?? {}
  const below = entries.slice(0, -1).toReversed()
  const isInRoubles = entries.some(
    ({ entry }) => isMapping(entry['rubPerMillion']) || isMapping(entry['rubPerUnit']),
  )
  return tables.flatMap(table => {
    const written = metersOf(own, table)
    if (written.length === 0 || (isInRoubles && table.startsWith('usd'))) return []
    const known = new Set(written)
    return below.flatMap(({ file, entry }) =>
      metersOf(entry, table).flatMap(meter => {
        if (known.has(meter)) return []
        known.add(meter)
        return [{ meter, file }]
      }),
    )
  })
}

function lackingMeters(entries: readonly WrittenEntry[]): readonly string[] {
  const meters = (currency: 'rub' | 'usd'): ReadonlySet<string> =>
    new Set(
      entries.flatMap(({ entry }) => [
        ...metersOf(entry, `${currency}PerMillion`),
        ...metersOf(entry, `${currency}PerUnit`).map(unit => unit.split('/', 1)[0] ?? ''),
      ]),
    )
  const inRoubles = meters('rub')
  if (inRoubles.size === 0) return []
  return [...meters('usd').difference(inRoubles)].filter(meter => !metersWithFallback.has(meter))
}
