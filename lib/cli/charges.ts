import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { csvCell } from '../documents/csv-table.ts'
import type { ChargeReport, RecomputedCharge } from '../ledger/reports.ts'
import { answer, answerList, addCommand, CommandError, countOf, formatTable, UsageError } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { time, oneOf, wholeNumber } from './arguments.ts'
import { checkKey, found, readStore, readRecords } from './with-store.ts'
import { zonedTime, systemClock, zonedDayStart } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'
import { formatRoubles } from '../money/amount.ts'
import { balanceAmounts } from '../ledger/ledger.ts'
import { readSpenders } from '../stores/records/desk-queries.ts'

/** Rows that a table buffers; column widths are computed over these. */
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

/**
 * Prints one line for each charge whose recomputation differs, then a summary. With `--json` the lines are
 * `{requestId, sequence, account, at, differences, charged, recomputed, hasProviderUsage}` and the last one is
 * `{charges, differing, withProviderUsage}`. Works while the server runs.
 */
function addChargesRecomputeCommand(charges: Command, { stdout }: CliContext): void {
  addCommand(charges, 'recompute', 'recompute charges from their usage and price; none should differ')
    .requiredOption('--since <time>', 'charges from this ISO date or time on')
    .action(async (options: SharedOptions & { readonly since: string }) => {
      const since = time('--since', options.since, openTimeZone(options))
      const counted = { charges: 0, differing: 0, withProviderUsage: 0 }
      await readStore(options, async reports => {
        for await (const charge of reports.recompute(since)) {
          counted.charges += 1
          if (charge.hasRawUsage) counted.withProviderUsage += 1
          if (charge.differences.length === 0) continue
          counted.differing += 1
          answer(stdout, options, view(charge), sentence(charge))
        }
      })
      answer(
        stdout,
        options,
        counted,
        `${countOf(counted.charges, 'charge')} recomputed, ${counted.differing} of them different; ` +
          `${counted.withProviderUsage} with the provider's own usage beside them\n`,
      )
      if (counted.differing > 0)
        throw new CommandError(
          `${countOf(counted.differing, 'charge')} with an amount other than the recomputed cost`,
        )
    })
}

function view({ costMicros, recomputedMicros, hasRawUsage, ...charge }: RecomputedCharge): object {
  return {
    ...charge,
    charged: formatRoubles(costMicros),
    recomputed: recomputedMicros === undefined ? null : formatRoubles(recomputedMicros),
    hasProviderUsage: hasRawUsage,
  }
}

function sentence(charge: RecomputedCharge): string {
  const { requestId, sequence, at, costMicros, recomputedMicros, differences } = charge
  const again = recomputedMicros === undefined ? 'unknown' : formatRoubles(recomputedMicros)
  const why = differences.join('; ')
  return `${at} ${requestId}/${sequence}: charged ${formatRoubles(costMicros)}, recomputed ${again}: ${why}\n`
}

/** `charges`: an account's charges, oldest first, and `charges recompute`. */
export function fillCharges(charges: Command, context: CliContext): void {
  const { stdout } = context
  charges
    .option('--account <id>', 'only of this account')
    .option('--key <id>', 'only of this key')
    .option('--request <id>', 'only of this request: the id of x-gateway-request-id')
    .option(
      '--since <time>',
      'only from this ISO date or time on; a date begins at midnight in timeZone of the configuration',
    )
    .option('--until <time>', 'only before this ISO date or time')
    .option('--csv', 'print a table for spreadsheets, one line each')
    .option('--alarms', 'only charges to check: flagged and estimated ones')
    .action(async (options: ChargesOptions) => {
      const { account, key, request, alarms, since, until } = options
      const zone = openTimeZone(options)
      const from = since === undefined ? undefined : time('--since', since, zone)
      const to = until === undefined ? undefined : time('--until', until, zone)
      if (from !== undefined && to !== undefined && from >= to)
        throw new UsageError(`--until: ${until} is not after --since ${since}`)
      const filter = {
        ...(key === undefined ? {} : { keyId: key }),
        ...(request === undefined ? {} : { exchangeId: request }),
        ...(from === undefined ? {} : { since: from }),
        ...(to === undefined ? {} : { until: to }),
        ...(alarms === undefined ? {} : { alarmsOnly: alarms }),
      }
      if (key !== undefined) await readRecords(options, records => checkKey(records, key))
      await readStore(options, async reports => {
        if (account !== undefined) found(await reports.account(account), account)
        const charges = reports.charges(account, filter)
        if (options.csv === true) await printCsv(charges, stdout, zone)
        else await (options.json === true ? printLines(charges, stdout) : printTable(charges, stdout, zone))
      })
    })
  charges.enablePositionalOptions()
  addChargesRecomputeCommand(charges, context)
}

type Charges = AsyncIterable<ChargeReport>

/**
 * Writes a part of a long result and waits for the stream to drain, so that a slow reader does not fill the memory.
 * @returns whether the stream is still open
 */
async function writeResult(stdout: CliContext['stdout'], text: string): Promise<boolean> {
  const isFlushed = stdout.write(text) !== false
  if (!(stdout instanceof Writable)) return true
  if (!isFlushed && stdout.writable) {
    const { promise, resolve } = Promise.withResolvers<void>()
    stdout.once('drain', resolve).once('close', resolve)
    await promise
    stdout.off('drain', resolve).off('close', resolve)
  }
  return stdout.writable
}

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

async function printCsv(charges: Charges, stdout: CliContext['stdout'], zone: string): Promise<void> {
  if (!(await writeResult(stdout, `${[...csvColumns, 'usage', 'flags'].join(',')}\r\n`))) return
  for await (const charge of charges) {
    const usage = Object.entries(charge.usage).map(([meter, units]) => `${meter}=${units}`)
    const texts = [
      zonedTime(Date.parse(charge.at), zone).replace(' ', 'T'),
      ...csvColumns.slice(1).map(name => String(charge[name] ?? '')),
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
    // Each part has its own column widths; only the first has a header.
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
  return formatTable(rows, ['roubles'])
}

/** `balance`: an account's money, debt, holds and what is available. */
export function fillBalance(balance: Command, { stdout }: CliContext): void {
  balance
    .requiredOption('--account <id>', 'the account')
    .action(async (options: SharedOptions & { readonly account: string }) => {
      const { account } = options
      const amounts = balanceAmounts(
        await readStore(options, async reports => found(await reports.balance(account), account)),
      )
      const { balance, debt, held, available, risk } = amounts
      const row = { balance, debt, held, available, risk }
      answer(stdout, options, amounts, formatTable([row], Object.keys(row)))
    })
}

/** A hundred years. */
const daysMax = 36_500

/** `top`: the accounts, models, keys or outcomes with the highest charges. */
export function fillTop(top: Command, { stdout }: CliContext): void {
  top
    .option('--by <what>', 'account, model, key or outcome', 'account')
    .option(
      '--days <n>',
      'how many days, today among them; they begin at midnight in timeZone of the configuration',
      '1',
    )
    .action(async (options: SharedOptions & { readonly by: string; readonly days: string }) => {
      const by = oneOf('--by', options.by, ['account', 'model', 'key', 'outcome'] as const)
      const days = wholeNumber('--days', options.days, 1, daysMax)
      const from = zonedDayStart(systemClock.now(), openTimeZone(options), days - 1)
      const rows = await readRecords(options, records => readSpenders(records, by, from))
      const shown = rows.map(({ name, charges, micros }) => ({
        [by]: name,
        charges: String(charges),
        roubles: formatRoubles(micros),
      }))
      const text = shown.length === 0 ? 'no charges\n' : formatTable(shown, ['charges', 'roubles'])
      answerList(stdout, options, shown, text)
    })
}
