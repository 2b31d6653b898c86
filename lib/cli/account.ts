import type { Command } from 'commander'
import { formatRoubles } from '../money/amount.ts'
import { addAccountBlocks } from './account-block.ts'
import { addAccountCorrection } from './account-correct.ts'
import { addAccountDeletion } from './account-delete.ts'
import { addAccountSearch } from './account-search.ts'
import { addAccountCompany } from './account-company.ts'
import { addAccountViews } from './account-views.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { roubles } from './arguments.ts'
import { changeAccounts } from './change-accounts.ts'
import type { CliContext } from './context.ts'

interface CreateOptions extends SharedOptions {
  readonly email: string
  readonly name?: string
}

interface MovementOptions extends SharedOptions {
  readonly rub: string
  readonly reason: string
  readonly idempotencyKey?: string
}

/** `account`: makes accounts, adds money, and shows them. */
export function addAccountCommands(program: Command, context: CliContext): void {
  const account = program
    .command('account')
    .description('who pays: create, find, show, credit, debit, correct, block, delete')
  addCreate(account, context)
  addAccountViews(account, context)
  addMovement(account, context, 'credit')
  addMovement(account, context, 'debit')
  addAccountCorrection(account, context)
  addAccountBlocks(account, context)
  addAccountDeletion(account, context)
  addAccountSearch(account, context)
  addAccountCompany(account, context)
}

function addCreate(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'create', 'open an account')
    .requiredOption('--email <address>', 'the address of its first user')
    .option('--name <name>', 'what to call it')
    .action(async (options: CreateOptions) => {
      const { email, name } = options
      const created = await changeAccounts(options, accounts =>
        accounts.createAccount({ email, ...(name === undefined ? {} : { name }) }),
      )
      const json = `${JSON.stringify({ id: created.id })}\n`
      stdout.write(options.json === true ? json : `account ${created.id} created\n`)
    })
}

function addMovement(account: Command, { stdout }: CliContext, kind: 'credit' | 'debit'): void {
  addCommand(
    account,
    `${kind} <account>`,
    kind === 'credit' ? 'book money in' : 'take money out that is available',
  )
    .requiredOption('--rub <amount>', 'roubles, such as 100.00; at most six decimals')
    .requiredOption('--reason <text>', 'what stands beside the entry; the customer sees it')
    .option('--idempotency-key <key>', `a second ${kind} with the same key is not booked`)
    .action(async (accountId: string, options: MovementOptions) => {
      const { reason, idempotencyKey } = options
      const amountMicros = roubles('--rub', options.rub)
      const movement = {
        accountId,
        amountMicros,
        reason,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      }
      const { entryId, balanceMicros } = await changeAccounts(options, accounts => accounts[kind](movement))
      const balance = formatRoubles(balanceMicros)
      const json = { entry: entryId, account: accountId, amount: formatRoubles(amountMicros), balance }
      const done = kind === 'credit' ? 'credited to' : 'debited from'
      stdout.write(
        options.json === true
          ? `${JSON.stringify(json)}\n`
          : `${json.amount} ₽ ${done} ${accountId}; the balance is ${balance} ₽\n`,
      )
    })
}
