import type { Command } from 'commander'
import type { Config, ModelConfig } from '../config/config.ts'
import type { ChargedPrice, ModelCost } from '../ledger/reports.ts'
import { priceInForce, startOf, type Price } from '../money/price.ts'
import { nearest } from '../platform/nearest.ts'
import { systemClock, zonedTime } from '../platform/clock.ts'
import { priceRows } from '../prices/list-price.ts'
import {
  answer,
  answerList,
  addCommand,
  isoTime,
  CommandError,
  formatTable,
  UsageError,
  type SharedOptions,
  type CliContext,
} from './command.ts'
import { openTimeZone } from './open-config.ts'
import { readStore, readRecords, withRecords, openPricedConfig, hasStore, knownRates } from './with-store.ts'
import { RateError, acceptRate, readRates, changePercent } from '../prices/rate-book.ts'
import type { RateRow } from '../stores/records/operator-tables.ts'
import { addPricesImport } from './prices-import.ts'
import { operatorName } from './arguments.ts'
import { pricesSchema } from '../config/pricing-schema.ts'
import { formatRoubles } from '../money/amount.ts'
import { parseDecimal } from '../money/decimal.ts'
import {
  PricePreviews,
  type PreviewedChange,
  type PreviewedPrices,
  type PricePreview,
} from '../prices/price-previews.ts'

/** There may be many charges, and this command blocks no other work. */
const waitMs = 600_000

/** `prices preview`: shows the effect of another rate or coefficient, without writing anything. */
function addPricesPreview(prices: Command, { stdout }: CliContext): void {
  addCommand(
    prices,
    'preview',
    'show what another rate or coefficient would change, and what the last 30 days would have come to',
  )
    .option('--usd-rub <rate>', 'roubles for a dollar, such as 92.50; as configured unless said')
    .option('--coefficient <factor>', 'such as 1.30; as configured unless said')
    .action(async (options: SharedOptions & PreviewedPrices) => {
      const previewed = readPrices(options)
      const { config } = await openPricedConfig(options)
      if (!hasStore(config)) throw new CommandError('there is no store yet: gateway serve makes it')
      const rates = await knownRates(options, config)
      const found = await new PricePreviews(waitMs).preview(config, previewed, {
        rates,
        now: systemClock.now(),
      })
      if (!('changes' in found)) throw new CommandError(refusalOf(found))
      const { changes, costs = [] } = found
      answer(
        stdout,
        options,
        { changes, last30Days: costs.map(costJson) },
        previewReport(changes, costs, previewed),
      )
    })
}

/** @throws UsageError where the configuration would reject the values */
function readPrices({ usdRub, coefficient }: PreviewedPrices): PreviewedPrices {
  const prices = {
    ...(usdRub !== undefined && { usdRub }),
    ...(coefficient !== undefined && { coefficient }),
  }
  if (Object.keys(prices).length === 0) throw new UsageError('name --usd-rub, --coefficient or both')
  const [wrong] = pricesSchema.safeParse(prices).error?.issues ?? []
  if (wrong === undefined) return prices
  const isRate = wrong.path[0] === 'usdRub'
  throw new UsageError(
    isRate
      ? `--usd-rub: "${usdRub}" is not a rate such as 92.50, greater than 0`
      : `--coefficient: "${coefficient}" is not a factor such as 1.30, greater than 0`,
  )
}

function refusalOf(found: Exclude<PricePreview, { changes: unknown }>): string {
  if ('busy' in found) return 'another preview is running'
  if ('wrong' in found) return `the configuration would be wrong:\n${found.wrong}`
  const { model, meter, before, after } = found.jump
  return `${model}, ${meter}: ${before} would become ${after} ₽, more than ten times as much or as little; a number was likely mistyped`
}

function costJson({ model, lines, chargedMicros, beforeMicros, afterMicros }: ModelCost): object {
  return {
    model,
    lines,
    charged: formatRoubles(chargedMicros),
    before: formatRoubles(beforeMicros),
    after: formatRoubles(afterMicros),
  }
}

function signed(micros: number): string {
  return `${micros > 0 ? '+' : ''}${formatRoubles(micros)}`
}

function previewReport(
  changes: readonly PreviewedChange[],
  costs: readonly ModelCost[],
  previewed: PreviewedPrices,
): string {
  if (changes.length === 0) return 'no price changes\n'
  const rows = changes.map(({ model, meter, unit, before, after }) => ({
    model,
    meter,
    before,
    after,
    change: parseDecimal(before) === 0n ? '' : `${changePercent(before, after)} %`,
    for: unit === 'million' ? 'a million' : 'each',
  }))
  const used = costs.map(one => ({
    model: one.model,
    charges: String(one.lines),
    charged: formatRoubles(one.chargedMicros),
    'would be': formatRoubles(one.afterMicros),
    difference: signed(one.afterMicros - one.chargedMicros),
  }))
  const sum = (of: (cost: ModelCost) => number): number => costs.reduce((total, cost) => total + of(cost), 0)
  const [charged, after] = [sum(one => one.chargedMicros), sum(one => one.afterMicros)]
  const effect =
    used.length === 0
      ? 'In the last 30 days none of these models was used.\n'
      : `${formatTable(used, ['charges', 'charged', 'would be', 'difference'])}The last 30 days came to ${formatRoubles(charged)} ₽ and would have come to ${formatRoubles(after)} ₽ (${signed(after - charged)} ₽).\n`
  const setting = Object.entries(previewed).map(([name, value]) => `${name}: '${value}'`)
  return `${formatTable(rows, ['before', 'after', 'change'])}\n${effect}\nNothing was changed. To apply it, write  prices: { ${setting.join(', ')} }  into the configuration and reload the gateway.\n`
}

const lookedBackMs = 90 * 86_400_000

type State = 'in force' | 'to come' | 'over'

/** `prices history`: past, current and future prices of a model. */
function addPricesHistory(prices: Command, { stdout }: CliContext): void {
  addCommand(
    prices,
    'history <model>',
    'show what a model costs, cost and will cost, and by which prices the last 90 days were charged',
  ).action(async (name: string, options: SharedOptions) => {
    const { config } = await openPricedConfig(options)
    const model = modelOf(config, name)
    const now = systemClock.now()
    const charged = hasStore(config)
      ? await readStore(options, reports => reports.chargedPrices(model.name, now - lookedBackMs))
      : []
    const versions = model.prices
      .toSorted((one, other) => startOf(other.from) - startOf(one.from))
      .map(price => ({ price, state: stateOf(model, price, now) }))
    const json = {
      model: model.name,
      configured: versions.map(versionJson),
      charged: charged.map(chargedJson),
    }
    answer(stdout, options, json, report(versions, charged, config.timeZone))
  })
}

/** @throws CommandError when there is no such model */
function modelOf(config: Config, name: string): ModelConfig {
  const target = config.aliases.get(name) ?? name
  const found = config.models.get(target) ?? config.modelPatterns.find(one => one.name === target)
  if (found !== undefined) return found
  const near = nearest(name, [...config.models.keys(), ...config.aliases.keys()])
  throw new CommandError(
    `the configuration has no model "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}\ngateway models --all lists them`,
  )
}

function stateOf({ prices }: ModelConfig, price: Price, now: number): State {
  if (price === priceInForce(prices, now)) return 'in force'
  return startOf(price.from) > now ? 'to come' : 'over'
}

interface Version {
  readonly price: Price
  readonly state: State
}

function versionJson({ price, state }: Version): object {
  const { from = null, hash, rubPerMillion, rubPerUnit, above, factors } = price
  return { from, state, hash, rubPerMillion, rubPerUnit, above, factors }
}

function chargedJson({ price, firstAt, lastAt, lines }: ChargedPrice): object {
  const { hash, rubPerMillion, rubPerUnit, above, factors } = price
  return {
    firstAt: new Date(firstAt).toISOString(),
    lastAt: isoTime(lastAt),
    lines,
    hash,
    rubPerMillion,
    rubPerUnit,
    above,
    factors,
  }
}

function amountsOf(price: Price) {
  return priceRows(price).map(({ meter, amount, unit }) => ({
    meter,
    roubles: amount,
    for: unit === 'million' ? 'a million' : 'each',
  }))
}

function report(versions: readonly Version[], charged: readonly ChargedPrice[], zone: string): string {
  const configured = versions.flatMap(({ price, state }) =>
    amountsOf(price).map(amount => ({
      from: price.from === undefined ? 'always' : zonedTime(startOf(price.from), zone),
      state,
      ...amount,
    })),
  )
  const used = charged.flatMap(({ price, firstAt, lastAt, lines }) =>
    amountsOf(price).map(amount => ({
      first: zonedTime(firstAt, zone),
      last: lastAt === undefined ? '' : zonedTime(lastAt, zone),
      charges: String(lines),
      ...amount,
    })),
  )
  const ofConfig =
    configured.length === 0
      ? 'The model has no price: what would cost is refused.\n'
      : formatTable(configured, ['roubles'])
  const ofCharges =
    used.length === 0
      ? 'Nothing was charged in the last 90 days.\n'
      : `Charged in the last 90 days, counted among the latest charges:\n${formatTable(used, ['charges', 'roubles'])}`
  return `${ofConfig}\n${ofCharges}`
}

/** `prices`: exchange rates and price lists. */
export function fillPrices(prices: Command, context: CliContext): void {
  addRate(prices, context)
  addPricesImport(prices, context)
  addPricesPreview(prices, context)
  addPricesHistory(prices, context)
}

function addRate(prices: Command, { stdout }: CliContext): void {
  addCommand(prices, 'rate', "list the Central Bank's rates, the latest first, or accept one that is held")
    .option('--accept [day]', 'use the rate that is held because it differs too much; the latest unless said')
    .action(async (options: SharedOptions & { readonly accept?: string | true }) => {
      const { accept } = options
      const rows =
        accept === undefined
          ? await readRecords(options, readRates)
          : [await acceptHeld(options, accept === true ? undefined : accept)]
      answerList(stdout, options, rows.map(rateJson), rateTable(rows, openTimeZone(options)))
    })
}

async function acceptHeld(options: SharedOptions, day: string | undefined): Promise<RateRow> {
  try {
    return await withRecords(options, (records, now) =>
      acceptRate(records, { day, operator: operatorName() }, now),
    )
  } catch (error) {
    if (error instanceof RateError) throw new CommandError(error.message)
    throw error
  }
}

function rateJson({ day, usd_rub, state, found_at, accepted_at }: RateRow): object {
  const foundAt = new Date(found_at).toISOString()
  return { day, usdRub: usd_rub, state, foundAt, acceptedAt: isoTime(accepted_at) }
}

function rateTable(rows: readonly RateRow[], zone: string): string {
  if (rows.length === 0)
    return 'no rate is known: set prices: { usdRub: { from: cbr } }, and start the gateway\n'
  const cells = rows.map(row => ({
    day: row.day,
    'roubles for a dollar': row.usd_rub,
    state:
      row.accepted_at === null ? row.state : `${row.state}, accepted ${zonedTime(row.accepted_at, zone)}`,
    found: zonedTime(row.found_at, zone),
  }))
  return formatTable(cells, ['roubles for a dollar'])
}
