import type { Command } from 'commander'
import { RateError, acceptRate, readRates } from '../prices/rate-book.ts'
import type { RateRow } from '../stores/records/rate-table.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { addPricesHistory } from './prices-history.ts'
import { addPricesImport } from './prices-import.ts'
import { addPricesPreview } from './prices-preview.ts'
import { CommandError } from './context.ts'
import { operatorName } from './arguments.ts'
import type { CliContext } from './context.ts'
import { formatTable } from './table.ts'
import { readRecords, withRecords } from './with-records.ts'
import { zonedTime } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'

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
      if (options.json === true) {
        for (const row of rows) stdout.write(`${JSON.stringify(rateJson(row))}\n`)
      } else stdout.write(rateTable(rows, openTimeZone(options)))
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
