import type { Command } from 'commander'
import { csvCell } from '../documents/csv-table.ts'
import type { ChargeReport } from '../ledger/reports.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { time } from './arguments.ts'
import type { CliContext } from './context.ts'
import { found, readStore } from './read-store.ts'
import { addChargesRecomputeCommand } from './charges-recompute.ts'
import { formatTable } from './table.ts'
import { writeResult } from './write-result.ts'
import { zonedTime } from '../platform/zoned-time.ts'
import { openTimeZone } from './open-config.ts'

/** Rows that a table has in memory, and that share the widths of its columns. */
const tableRows = 1000

interface ChargesOptions extends SharedOptions {
  readonly account?: string
  readonly key?: string
  readonly request?: string
  readonly alarms?: boolean
  readonly since?: string
  readonly until?: string
  readonly csv?: boolean
}

/** `charges`: an account's charges, oldest first, and `charges recompute`. */
export function addChargesCommand(program: Command, context: CliContext): void {
  const { stdout } = context
  const charges = addCommand(
    program,
    'charges',
    'list what was charged, oldest first; of all accounts unless one is named',
  )
    .option('--account <id>', 'only of this account')
    .option('--key <id>', 'only of this key')
    .option('--request <id>', 'only of this request: the id of x-gateway-request-id')
    .option(
      '--since <time>',
      'only from this ISO date or time on; a date begins at midnight in timeZone of the configuration',
    )
    .option('--until <time>', 'only before this ISO date or time')
    .option('--csv', 'print a table for spreadsheets, one line each')
    .option('--alarms', 'only what should be looked at: flagged charges, and estimated ones')
    .action((options: ChargesOptions) => {
      const { account, key, request, alarms, since, until } = options
      const zone = openTimeZone(options)
      const filter = {
        ...(key === undefined ? {} : { keyId: key }),
        ...(request === undefined ? {} : { exchangeId: request }),
        ...(since === undefined ? {} : { since: time('--since', since, zone) }),
        ...(until === undefined ? {} : { until: time('--until', until, zone) }),
        ...(alarms === undefined ? {} : { alarmsOnly: alarms }),
      }
      return readStore(options, async reports => {
        if (account !== undefined) found(await reports.account(account), account)
        const charges = reports.charges(account, filter)
        if (options.csv === true) await printCsv(charges, stdout)
        else await (options.json === true ? printLines(charges, stdout) : printTable(charges, stdout, zone))
      })
    })
  charges.enablePositionalOptions()
  addChargesRecomputeCommand(charges, context)
}

type Charges = AsyncIterable<ChargeReport>

async function printLines(charges: Charges, stdout: CliContext['stdout']): Promise<void> {
  for await (const charge of charges) if (!(await writeResult(stdout, `${JSON.stringify(charge)}\n`))) return
}

const csvColumns = [
  'at',
  'requestId',
  'sequence',
  'account',
  'key',
  'provider',
  'model',
  'operation',
  'outcome',
  'usageSource',
  'amount',
  'overrun',
  'returned',
] as const

async function printCsv(charges: Charges, stdout: CliContext['stdout']): Promise<void> {
  if (!(await writeResult(stdout, `${[...csvColumns, 'usage', 'flags'].join(',')}\r\n`))) return
  for await (const charge of charges) {
    const usage = Object.entries(charge.usage).map(([meter, units]) => `${meter}=${units}`)
    const texts = [
      ...csvColumns.map(name => String(charge[name] ?? '')),
      usage.join(' '),
      charge.flags.join(' '),
    ]
    if (!(await writeResult(stdout, `${texts.map(csvCell).join(',')}\r\n`))) return
  }
}

async function printTable(charges: Charges, stdout: CliContext['stdout'], zone: string): Promise<void> {
  let rows: ChargeReport[] = []
  let isFirst = true
  const print = (): Promise<boolean> => {
    const text = table(rows, zone)
    // The columns of each part are as wide as it needs; their names stand above the first.
    const printed = writeResult(stdout, isFirst ? text : text.slice(text.indexOf('\n') + 1))
    rows = []
    isFirst = false
    return printed
  }
  for await (const charge of charges) {
    rows.push(charge)
    if (rows.length === tableRows && !(await print())) return
  }
  if (rows.length > 0) await print()
  else if (isFirst) stdout.write('no charges\n')
}

function table(charges: readonly ChargeReport[], zone: string): string {
  const rows = charges.map(charge => ({
    at: zonedTime(Date.parse(charge.at), zone),
    request: charge.requestId,
    provider: charge.provider,
    model: charge.model,
    operation: charge.operation,
    outcome: charge.outcome,
    usage: Object.entries(charge.usage)
      .map(([meter, units]) => `${meter} ${units}`)
      .join(', '),
    source: charge.usageSource,
    roubles: charge.amount,
    flags: charge.flags.join(', '),
  }))
  return formatTable(rows, {
    at: 'left',
    request: 'left',
    provider: 'left',
    model: 'left',
    operation: 'left',
    outcome: 'left',
    usage: 'left',
    source: 'left',
    roubles: 'right',
    flags: 'left',
  })
}
