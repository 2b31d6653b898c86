import { isDeepStrictEqual } from 'node:util'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config, ModelConfig } from '../config/config.ts'
import type { PriceOrigin } from '../config/mixed-prices.ts'
import { canonicalDecimal } from '../money/decimal.ts'
import { startOf } from '../money/price.ts'
import type { DollarPrice } from '../money/pricing.ts'
import { isPriceJump, type ListPrice } from './list-price.ts'
import { PriceListError, type PriceList } from './read-price-list.ts'
import { withInclude } from '../config/yaml-document.ts'
import { isMapping } from '../config/config-error.ts'

/** A price that a list changes. */
export interface PriceChange {
  readonly model: string
  /** `input`, or `input above 200000` for long prompts. */
  readonly meter: string
  /** Dollars, for a million units or for one. */
  readonly unit: 'million' | 'one'
  /** Null if there was none. */
  readonly before: string | null
  readonly after: string
  /** ISO time from which it applies. */
  readonly from: string
}

/** The changes of a list. */
export interface ImportPlan {
  /** The entries of changed models for the file of imported prices. */
  readonly entries: ReadonlyMap<string, { readonly prices: readonly DollarPrice[] }>
  readonly changes: readonly PriceChange[]
  /** Models with a price in roubles or dollars of the operator's own. */
  readonly own: readonly string[]
  /** Models that are not in the list. */
  readonly absent: readonly string[]
}

interface PlanOptions {
  readonly config: Pick<Config, 'models' | 'modelPatterns' | 'providers'>
  readonly origins: ReadonlyMap<string, PriceOrigin>
  readonly list: PriceList
  /** When the new prices take effect, in milliseconds since the epoch. */
  readonly at: number
  /** Models whose prices may change by any factor. */
  readonly accepted: ReadonlySet<string>
}

const namedMax = 10
/** How many past versions of a price are still written. */
const pastMax = 12

/**
 * Determines what a list changes for the models that are priced by lists. Meters that are not in the list, service
 * tiers and announced changes stay.
 * @throws PriceListError when prices of configured models are negative, missing or far from their former values
 */
export function planImport({ config, origins, list, at, accepted }: PlanOptions): ImportPlan {
  const entries = new Map<string, { readonly prices: readonly DollarPrice[] }>()
  const changes: PriceChange[] = []
  const own: string[] = []
  const absent: string[] = []
  const wrong: string[] = []
  for (const model of [...config.models.values(), ...config.modelPatterns]) {
    const { name, providers } = model
    const provider = config.providers.get(providers[0] ?? '')
    const origin = origins.get(name)
    if (origin === 'like' || (origin === 'list' && model.list === undefined)) continue
    const found = list.find(provider?.kind ?? '', listNames(model))
    if (found === undefined) absent.push(name)
    if (found !== undefined && origin === 'own') own.push(name)
    if (found === undefined || origin !== 'list') continue
    const change = changeOf(model, found, at)
    const problems = accepted.has(name) ? [] : missing(model, found, at)
    problems.push(...(change?.steps ?? []).flatMap(step => problemsOf(name, step, accepted.has(name))))
    // A list with an error anywhere is not trusted elsewhere, whether the model is sold today or not.
    wrong.push(...problems)
    if (change === undefined) continue
    entries.set(name, { prices: change.versions })
    changes.push(...change.steps.flatMap(step => changesOf(name, step)))
  }
  if (wrong.length > 0) throw new PriceListError(refusal(wrong))
  return { entries, changes, own, absent }
}

function refusal(wrong: readonly string[]): string {
  const more = wrong.length > namedMax ? `; and ${wrong.length - namedMax} more` : ''
  return `is refused, and nothing is changed: ${wrong.slice(0, namedMax).join('; ')}${more}`
}

/** The names that a list may use for a model: its provider's, and for a pattern the known names that it covers. */
function listNames({ name, providers, names = [], upstreamModel }: ModelConfig): readonly string[] {
  const prefix = `${providers[0]}/`
  const bare = (one: string): string => (one.startsWith(prefix) ? one.slice(prefix.length) : one)
  const beginning = name.replace(/(?:-?(?:preview-)?(?:20|0)?)\*.*$/, '')
  return [upstreamModel ?? bare(name), bare(beginning), ...names.map(bare)]
}

/** One version of a price and the one before it. */
interface Step {
  readonly from: string
  readonly before: DollarPrice
  readonly after: DollarPrice
}

function changeOf(
  { list }: ModelConfig,
  found: readonly ListPrice[],
  at: number,
): { readonly versions: readonly DollarPrice[]; readonly steps: readonly Step[] } | undefined {
  const known = list?.versions ?? []
  const now = known.findLast(({ from }) => startOf(from) <= at)
  const listed = found.findLast(({ from }) => startOf(from) <= at)
  if (now === undefined) return undefined
  const steps: Step[] = []
  let before = now
  for (const one of [
    ...(listed === undefined ? [] : [listed]),
    ...found.filter(({ from }) => startOf(from) > at),
  ]) {
    const from = one === listed ? isoSeconds(at) : (one.from ?? '')
    const after = { from, ...laidOver(before, one) }
    if (isSame(before, after)) continue
    steps.push({ from, before, after })
    before = after
  }
  const announced = known.filter(({ from }) => startOf(from) > at)
  const hasOwnDates = steps.some(({ from }) => startOf(from) > at)
  const isNews = steps.some(
    ({ from, after }) => !announced.some(one => startOf(one.from) === startOf(from) && isSame(one, after)),
  )
  if (!isNews) return undefined
  const past = known.filter(({ from }) => from !== undefined && startOf(from) < at).slice(-pastMax)
  const later = hasOwnDates ? [] : announced
  return { versions: [...past, ...steps.map(({ after }) => after), ...later], steps }
}

function isoSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

type Table = Readonly<Record<string, string | undefined>>

/**
 * The list's new prices for a table: none for meters that are priced in the other table, and no zeros for meters
 * without a price.
 */
function news(listed: Table | undefined, own: Table | undefined, other: Table | undefined): Table {
  return Object.fromEntries(
    Object.entries(listed ?? {}).filter(
      ([meter, usd]) =>
        !Object.hasOwn(other ?? {}, meter) && (usd !== '0' || Object.hasOwn(own ?? {}, meter)),
    ),
  )
}

/** The price, overlaid with the list's prices. */
function laidOver(price: DollarPrice, list: ListPrice): Omit<DollarPrice, 'from'> {
  const usdPerMillion = {
    ...price.usdPerMillion,
    ...news(list.usdPerMillion, price.usdPerMillion, price.usdPerUnit),
  }
  const usdPerUnit = {
    ...price.usdPerUnit,
    ...news(list.usdPerUnit, price.usdPerUnit, price.usdPerMillion),
  }
  const above = list.above === undefined ? price.above : levels(price.above ?? [], list.above, usdPerMillion)
  return {
    ...(Object.keys(usdPerMillion).length > 0 && { usdPerMillion }),
    ...(Object.keys(usdPerUnit).length > 0 && { usdPerUnit }),
    ...(above !== undefined && { above }),
    ...(price.factors !== undefined && { factors: price.factors }),
  }
}

type Levels = NonNullable<DollarPrice['above']>

/** Lists say 272000 or 271999 for the same level: the existing one stays. */
function levels(before: Levels, listed: NonNullable<ListPrice['above']>, base: Table): Levels {
  return listed.map(level => {
    const known = before.find(one => Math.abs(one.inputTokens - level.inputTokens) <= level.inputTokens / 100)
    const { inputTokens, mode } = known ?? level
    const priced = Object.entries(level.usdPerMillion).filter(([meter]) => Object.hasOwn(base, meter))
    return { inputTokens, mode, usdPerMillion: { ...known?.usdPerMillion, ...Object.fromEntries(priced) } }
  })
}

/** Every price of a version, by its name. */
function pricesOf(
  price: DollarPrice,
): ReadonlyMap<string, { readonly unit: PriceChange['unit']; readonly usd: string }> {
  const rows = (table: Table | undefined, unit: PriceChange['unit'], ending = '') =>
    Object.entries(table ?? {}).flatMap(([meter, usd]) =>
      usd === undefined ? [] : [[meter + ending, { unit, usd: canonical(usd) }] as const],
    )
  return new Map([
    ...rows(price.usdPerMillion, 'million'),
    ...rows(price.usdPerUnit, 'one'),
    ...(price.above ?? []).flatMap(level =>
      rows(level.usdPerMillion, 'million', ` above ${level.inputTokens}`),
    ),
  ])
}

/** A negative price stays unchanged, to be refused. */
function canonical(usd: string): string {
  return usd.startsWith('-') ? usd : canonicalDecimal(usd)
}

function isSame(one: DollarPrice, other: DollarPrice): boolean {
  return isDeepStrictEqual(pricesOf(one), pricesOf(other))
}

function changesOf(model: string, { from, before, after }: Step): readonly PriceChange[] {
  const old = pricesOf(before)
  return [...pricesOf(after)].flatMap(([meter, { unit, usd }]) => {
    const was = old.get(meter)?.usd ?? null
    return was === usd ? [] : [{ model, meter, unit, before: was, after: usd, from }]
  })
}

function problemsOf(model: string, step: Step, isAccepted: boolean): readonly string[] {
  return changesOf(model, step).flatMap(({ meter, before, after }) => {
    if (after.startsWith('-')) return [`${model} has a negative price for ${meter}: ${after}`]
    if (before === null || isAccepted || !isPriceJump(before, after)) return []
    return [
      `${model} would cost ${after} dollars for ${meter} instead of ${before}; if that is right, add --accept ${model}`,
    ]
  })
}

/** A list with token prices must have prices for input and for output. */
function missing({ name, list }: ModelConfig, found: readonly ListPrice[], at: number): string[] {
  const priced = list?.versions.findLast(({ from }) => startOf(from) <= at)?.usdPerMillion ?? {}
  const listed = found.findLast(({ from }) => startOf(from) <= at)?.usdPerMillion
  if (listed === undefined) return []
  const meters = ['input', 'output'].filter(one => Object.hasOwn(priced, one) && !Object.hasOwn(listed, one))
  return meters.length === 0
    ? []
    : [
        `${name} has no price for ${meters.join(' and ')} there; to keep what it costs here, add --accept ${name}`,
      ]
}

/** The files of an import, by their paths, in writing order. */
export type ImportedFiles = ReadonlyMap<string, string>

interface ImportInto {
  /** The main file of the config, and all files that it includes. */
  readonly configFile: string
  readonly files: readonly string[]
  /** The source of the prices. */
  readonly comment: string
}

/**
 * The file of imported prices, beside the config, with the changes of a plan; and the config, if it does not include
 * that file yet.
 * @throws PriceListError when either cannot be extended
 */
export function importedPrices(plan: ImportPlan, { configFile, files, comment }: ImportInto): ImportedFiles {
  const file = join(dirname(configFile), 'prices.json')
  const models = { ...writtenModels(file), ...Object.fromEntries(plan.entries) }
  const lines = Object.entries(models)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, entry]) => `    ${JSON.stringify(name)}: ${JSON.stringify(entry)}`)
  const text = `{\n  "$comment": ${JSON.stringify(comment)},\n  "models": {\n${lines.join(',\n')}\n  }\n}\n`
  if (files.includes(file)) return new Map([[file, text]])
  const config = withInclude(readFileSync(configFile, 'utf8'), 'prices.json')
  if (config === undefined)
    throw new PriceListError(`needs ${file} among the files that ${configFile} includes: add it to include`)
  return new Map([
    [file, text],
    [configFile, config],
  ])
}

function writtenModels(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) return {}
  let written: unknown
  try {
    written = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new PriceListError(`cannot be added to ${file}, which is no JSON`, { cause: error })
  }
  const models = isMapping(written) ? written['models'] : undefined
  return isMapping(models) ? models : {}
}
