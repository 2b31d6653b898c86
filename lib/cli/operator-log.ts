import type { Command } from 'commander'
import { findActions } from '../administration/operator-log.ts'
import { zonedTime } from '../platform/clock.ts'
import { operatorActions } from '../stores/records/ledger-tables.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { dayOf, oneOf } from './arguments.ts'
import type { CliContext } from './context.ts'
import { openTimeZone } from './open-config.ts'
import { formatTable } from './table.ts'
import { readRecords } from './with-records.ts'

interface LogOptions extends SharedOptions {
  readonly account?: string
  readonly operator?: string
  readonly action?: string
  readonly day?: string
}

const loggedMax = 1000

/** `operator log`. */
export function addOperatorLog(operator: Command, { stdout }: CliContext): void {
  addCommand(operator, 'log', `list what operators did, the newest first, at most ${loggedMax}`)
    .option('--account <id>', 'only what was done to this account')
    .option('--operator <who>', 'only by this operator: an email, or a name as the list shows it')
    .option('--action <action>', `only this: ${operatorActions.join(', ')}`)
    .option('--day <date>', 'only of this day, such as 2026-11-22')
    .action(async (options: LogOptions) => {
      const zone = openTimeZone(options)
      const { account = '', operator: who = '', action = '', day } = options
      if (action !== '') oneOf('--action', action, operatorActions)
      const query = {
        isDescending: true,
        limit: loggedMax,
        offset: 0,
        filters: { account, operator: who, action },
        ...(day !== undefined && dayOf('--day', day, zone)),
      }
      const actions = await readRecords(options, records => findActions(records, query))
      const rows = actions.map(one => ({
        at: options.json === true ? new Date(one.at).toISOString() : zonedTime(one.at, zone),
        operator: one.operator,
        action: one.action,
        account: one.account_id,
        reason: one.reason,
      }))
      if (options.json === true) for (const one of rows) stdout.write(`${JSON.stringify(one)}\n`)
      else stdout.write(rows.length === 0 ? 'nothing was done\n' : formatTable(rows, columns))
    })
}

const columns = { at: 'left', operator: 'left', action: 'left', account: 'left', reason: 'left' } as const
