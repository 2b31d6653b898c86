import type { Command } from 'commander'
import type { KeyEdit } from '../accounts/accounts.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { addressList, futureTime, modelList, oneOf, operatorName, reasonText, roubles } from './arguments.ts'
import { changeAccounts } from './change-accounts.ts'
import { checkModels } from './check-models.ts'
import { UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { keyTable, keyView } from './key-views.ts'
import { openTimeZone } from './open-config.ts'

/** What a key is called and limited to, as it is typed. */
export interface KeyOptions extends SharedOptions {
  readonly name?: string
  readonly models?: string
  readonly allowUnknownModels?: boolean
  readonly budgetRub?: string
  readonly budgetPeriod?: string
  readonly expires?: string
  readonly ips?: string
}

interface EditOptions extends KeyOptions {
  readonly reason: string
}

/** When the budget of a key may begin anew. */
export const budgetPeriods = ['total', 'day', 'week', 'month'] as const

/** Ends a limit. */
const none = 'none'

/** `key edit`. */
export function addKeyEdit(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'edit <key>', 'change a key; by its id, not its value; what is not named stays as it is')
    .requiredOption('--reason <text>', 'for the log; the customer does not see it')
    .option('--name <name>', 'what to call it')
    .option('--models <list>', `the models it may use, with commas between; ${none}: all of them`)
    .option('--allow-unknown-models', 'among them such as the configuration does not have yet')
    .option('--budget-rub <amount>', `how much it may spend, what it has spent counted; ${none}: no budget`)
    .option('--budget-period <period>', `when the budget begins anew: ${budgetPeriods.join(', ')}`)
    .option('--expires <time>', `an ISO date or time; ${none}: never`)
    .option('--ips <list>', `the addresses and networks it may come from; ${none}: any`)
    .action(async (id: string, options: EditOptions) => {
      const edit = editOf(id, options)
      if (options.allowUnknownModels !== true) checkModels(options, edit.models ?? [])
      const edited = await changeAccounts(options, accounts => accounts.editKey(edit))
      stdout.write(
        options.json === true
          ? `${JSON.stringify(keyView(edited))}\n`
          : keyTable([edited], openTimeZone(options)),
      )
    })
}

/** @throws UsageError */
function editOf(id: string, options: EditOptions): KeyEdit {
  const { name, models, budgetRub, budgetPeriod, expires, ips } = options
  if (budgetPeriod !== undefined && (budgetRub === undefined || budgetRub === none)) {
    throw new UsageError('--budget-period needs --budget-rub with an amount')
  }
  if ([name, models, budgetRub, expires, ips].every(one => one === undefined)) {
    throw new UsageError('name what to change: --name, --models, --budget-rub, --expires or --ips')
  }
  const limit = <T>(text: string, read: (text: string) => T): T | null => (text === none ? null : read(text))
  return {
    id,
    reason: reasonText(options.reason),
    operator: operatorName(),
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: limit(models, text => modelList('--models', text)) }),
    ...(budgetRub !== undefined && { budgetMicros: limit(budgetRub, text => roubles('--budget-rub', text)) }),
    ...(budgetPeriod !== undefined && {
      budgetPeriod: oneOf('--budget-period', budgetPeriod, budgetPeriods),
    }),
    ...(expires !== undefined && {
      expiresAt: limit(expires, text => futureTime('--expires', text, openTimeZone(options))),
    }),
    ...(ips !== undefined && { ipAddresses: limit(ips, text => addressList('--ips', text)) }),
  }
}
