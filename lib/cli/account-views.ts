import type { Command } from 'commander'
import type { AccountReport } from '../ledger/reports.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { balanceAmounts } from '../ledger/balance-amounts.ts'
import type { CliContext } from './context.ts'
import { keyTable, keyView } from './key-views.ts'
import { found, readStore } from './read-store.ts'
import { formatTable } from './table.ts'
import { zonedTime } from '../platform/zoned-time.ts'
import { openTimeZone } from './open-config.ts'

/** `account list` and `account show`: they read the store beside whoever writes it. */
export function addAccountViews(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'list', 'list all accounts with their balances').action(
    async (options: SharedOptions) => {
      const accounts = await readStore(options, reports => reports.accounts())
      if (options.json === true)
        for (const one of accounts) stdout.write(`${JSON.stringify(accountView(one))}\n`)
      else
        stdout.write(
          accounts.length === 0
            ? 'no accounts: gateway account create makes one\n'
            : table(accounts, openTimeZone(options)),
        )
    },
  )
  addCommand(account, 'show <account>', 'show an account with its keys').action(
    async (id: string, options: SharedOptions) => {
      const { one, keys } = await readStore(options, async reports => ({
        one: found(await reports.account(id), id),
        keys: await reports.keys(id),
      }))
      if (options.json === true) {
        stdout.write(`${JSON.stringify({ ...accountView(one), keys: keys.map(keyView) })}\n`)
      } else {
        const zone = openTimeZone(options)
        stdout.write(`${table([one], zone)}\n${keyTable(keys, zone)}`)
      }
    },
  )
}

function accountView(account: AccountReport) {
  const { id, name, email, createdAt } = account
  return {
    id,
    email,
    name: name ?? null,
    createdAt: new Date(createdAt).toISOString(),
    ...balanceAmounts(account),
  }
}

function table(accounts: readonly AccountReport[], zone: string): string {
  const rows = accounts.map(account => ({
    id: account.id,
    email: account.email,
    name: account.name ?? '',
    created: zonedTime(account.createdAt, zone),
    ...balanceAmounts(account),
  }))
  return formatTable(rows, {
    id: 'left',
    email: 'left',
    name: 'left',
    created: 'left',
    balance: 'right',
    debt: 'right',
    held: 'right',
    available: 'right',
  })
}
