import type { Command } from 'commander'
import type { Config, ModelConfig } from '../config/config.ts'
import type { ChargedPrice } from '../ledger/reports.ts'
import { priceInForce, startOf, type Price } from '../money/price.ts'
import { nearest } from '../platform/nearest.ts'
import { systemClock, zonedTime } from '../platform/clock.ts'
import { priceRows } from '../prices/list-price.ts'
import { answerList, addCommand, CommandError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { openTimeZone } from './open-config.ts'
import { readStore, readRecords, withRecords, openPricedConfig, hasStore } from './with-store.ts'
import { RateError, acceptRate, readRates } from '../prices/rate-book.ts'
import type { RateRow } from '../stores/records/operator-tables.ts'
import { addPricesImport } from './prices-import.ts'
import { addPricesPreview } from './prices-preview.ts'
import { operatorName } from './arguments.ts'

const lookedBackMs = 90 * 86_400_000

type State = 'in force' | 'to come' | 'over'

/** `prices history`: what a model costs, cost and will cost. */
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
    if (options.json === true) {
      const json = {
        model: model.name,
        configured: versions.map(versionJson),
        charged: charged.map(chargedJson),
      }
      stdout.write(`${JSON.stringify(json)}\n`)
    } else stdout.write(report(versions, charged, config.timeZone))
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
    lastAt: lastAt === undefined ? null : new Date(lastAt).toISOString(),
    lines,
    hash,
    rubPerMillion,
    rubPerUnit,
    above,
    factors,
  }
}

const amountColumns = { meter: 'left', roubles: 'right', for: 'left' } as const

function amountsOf(price: Price): readonly Readonly<Record<keyof typeof amountColumns, string>>[] {
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
      : formatTable(configured, { from: 'left', state: 'left', ...amountColumns })
  const ofCharges =
    used.length === 0
      ? 'Nothing was charged in the last 90 days.\n'
      : `Charged in the last 90 days, counted among the latest charges:\n${formatTable(used, { first: 'left', last: 'left', charges: 'right', ...amountColumns })}`
  return `${ofConfig}\n${ofCharges}`
}

/** `prices`: the rates that prices follow, and lists of prices. */
export function addPricesCommands(program: Command, context: CliContext): void {
  const prices = program.command('prices').description('what models cost: rate, import, preview, history')
  addRate(prices, context)
  addPricesImport(prices, context)
  addPricesPreview(prices, context)
  addPricesHistory(prices, context)
}

interface RateOptions extends SharedOptions {
  readonly accept?: string | true
}

function addRate(prices: Command, { stdout }: CliContext): void {
  addCommand(prices, 'rate', "list the Central Bank's rates, the latest first, or accept one that is held")
    .option('--accept [day]', 'use the rate that is held because it differs too much; the latest unless said')
    .action(async (options: RateOptions) => {
      const { accept } = options
      const rows =
        accept === undefined
          ? await readRecords(options, readRates)
          : [await acceptHeld(options, accept === true ? undefined : accept)]
      answerList(stdout, options, rows.map(rateJson), rateTable(rows, openTimeZone(options)))
    })
}

async function acceptHeld(options: RateOptions, day: string | undefined): Promise<RateRow> {
  try {
    return await withRecords(options, (records, now) =>
      acceptRate(records, { day, operator: operatorName() }, now),
    )
  } catch (error) {
    if (error instanceof RateError) throw new CommandError(error.message)
    throw error
  }
}

function rateJson({
  day,
  usd_rub: usdRub,
  state,
  found_at: foundAt,
  accepted_at: acceptedAt,
}: RateRow): object {
  return {
    day,
    usdRub,
    state,
    foundAt: new Date(foundAt).toISOString(),
    acceptedAt: acceptedAt === null ? null : new Date(acceptedAt).toISOString(),
  }
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
  return formatTable(cells, { day: 'left', 'roubles for a dollar': 'right', state: 'left', found: 'left' })
}
