import type { Command } from 'commander'
import type { ChargeReport } from '../ledger/reports.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext } from './context.ts'
import { found, readStore } from './read-store.ts'
import { addChargesRecomputeCommand } from './charges-recompute.ts'
import { formatTable, formatTime } from './table.ts'

interface ChargesOptions extends SharedOptions {
  readonly account?: string
  readonly key?: string
  readonly request?: string
  readonly alarms?: boolean
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
    .option('--alarms', 'only what should be looked at: flagged charges, and estimated ones')
    .action((options: ChargesOptions) => {
      const { account, key, request, alarms } = options
      const filter = {
        ...(key === undefined ? {} : { keyId: key }),
        ...(request === undefined ? {} : { exchangeId: request }),
        ...(alarms === undefined ? {} : { alarmsOnly: alarms }),
      }
      return readStore(options, async reports => {
        if (account !== undefined) found(await reports.account(account), account)
        const charges = reports.charges(account, filter)
        if (options.json !== true) stdout.write(table(await Array.fromAsync(charges)))
        else for await (const charge of charges) stdout.write(`${JSON.stringify(charge)}\n`)
      })
    })
  charges.enablePositionalOptions()
  addChargesRecomputeCommand(charges, context)
}

function table(charges: readonly ChargeReport[]): string {
  if (charges.length === 0) return 'no charges\n'
  const rows = charges.map(charge => ({
    at: formatTime(Date.parse(charge.at)),
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
