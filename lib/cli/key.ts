import type { Command } from 'commander'
import type { NewKey } from '../accounts/accounts.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { addressList, futureTime, modelList, oneOf, roubles } from './arguments.ts'
import { addKeyEdit, budgetPeriods } from './key-edit.ts'
import type { KeyOptions } from './key-edit.ts'
import { changeAccounts } from './change-accounts.ts'
import { checkModels } from './check-models.ts'
import { UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { addKeyViews } from './key-views.ts'
import { openTimeZone } from './open-config.ts'

interface CreateOptions extends KeyOptions {
  readonly account: string
}

/** `key`: makes, revokes and shows keys. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const key = program.command('key').description('what clients send: create, edit, list, find, revoke')
  addCreate(key, context)
  addKeyEdit(key, context)
  addKeyViews(key, context)
  addRevoke(key, context)
}

function addCreate(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'create', 'make a key; its value is shown once')
    .requiredOption('--account <id>', 'who pays')
    .option('--name <name>', 'what to call it')
    .option(
      '--models <list>',
      'the models it may use, with commas between; a trailing * stands for any ending',
    )
    .option('--allow-unknown-models', 'among them such as the configuration does not have yet')
    .option('--budget-rub <amount>', 'how much it may spend')
    .option('--budget-period <period>', `when the budget begins anew: ${budgetPeriods.join(', ')}`)
    .option('--expires <time>', 'an ISO date or time')
    .option('--ips <list>', 'the addresses and networks it may come from, with commas between')
    .action(async (options: CreateOptions) => {
      const wanted = newKey(options)
      if (wanted.models !== undefined && options.allowUnknownModels !== true) {
        checkModels(options, wanted.models)
      }
      const { id, key: value } = await changeAccounts(options, accounts => accounts.createKey(wanted))
      stdout.write(
        options.json === true
          ? `${JSON.stringify({ id, key: value })}\n`
          : `key ${id} created. Its value is shown this once and stored nowhere:\n${value}\n`,
      )
    })
}

function newKey(options: CreateOptions): NewKey {
  const { account, name, models, budgetRub, budgetPeriod, expires, ips } = options
  if (budgetPeriod !== undefined && budgetRub === undefined) {
    throw new UsageError('--budget-period needs --budget-rub')
  }
  return {
    accountId: account,
    ...(name === undefined ? {} : { name }),
    ...(models === undefined ? {} : { models: modelList('--models', models) }),
    ...(budgetRub === undefined ? {} : { budgetMicros: roubles('--budget-rub', budgetRub) }),
    ...(budgetPeriod === undefined
      ? {}
      : { budgetPeriod: oneOf('--budget-period', budgetPeriod, budgetPeriods) }),
    ...(expires === undefined ? {} : { expiresAt: futureTime('--expires', expires, openTimeZone(options)) }),
    ...(ips === undefined ? {} : { ipAddresses: addressList('--ips', ips) }),
  }
}

function addRevoke(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'revoke <key>', 'end a key; by its id, not its value').action(
    async (id: string, options: SharedOptions) => {
      await changeAccounts(options, accounts => accounts.revokeKey(id))
      stdout.write(
        options.json === true ? `${JSON.stringify({ id, revoked: true })}\n` : `key ${id} revoked\n`,
      )
    },
  )
}
