import type { Command } from 'commander'
import { balanceAmounts } from '../ledger/balance-amounts.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext } from './context.ts'
import { found, readStore } from './read-store.ts'
import { formatTable } from './table.ts'

interface BalanceOptions extends SharedOptions {
  readonly account: string
}

/** `balance`: what an account has and owes, what is held, what is available. */
export function addBalanceCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'balance', 'say what an account has, and what of it is set aside')
    .requiredOption('--account <id>', 'the account')
    .action(async (options: BalanceOptions) => {
      const { account } = options
      const amounts = balanceAmounts(
        await readStore(options, async reports => found(await reports.balance(account), account)),
      )
      const columns = {
        balance: 'right',
        debt: 'right',
        held: 'right',
        available: 'right',
        risk: 'right',
      } as const
      stdout.write(options.json === true ? `${JSON.stringify(amounts)}\n` : formatTable([amounts], columns))
    })
}
