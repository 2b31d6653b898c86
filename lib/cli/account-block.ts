import type { Command } from 'commander'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { operatorName, reasonText } from './arguments.ts'
import { changeAccounts } from './change-accounts.ts'
import type { CliContext } from './context.ts'

interface BlockOptions extends SharedOptions {
  readonly reason: string
}

/** `account block` and `account unblock`. */
export function addAccountBlocks(account: Command, context: CliContext): void {
  addBlock(account, context, 'block')
  addBlock(account, context, 'unblock')
}

function addBlock(account: Command, { stdout }: CliContext, name: 'block' | 'unblock'): void {
  const isBlocked = name === 'block'
  addCommand(
    account,
    `${name} <account>`,
    isBlocked ? 'refuse all keys of an account; what runs is finished and charged' : 'end a block',
  )
    .requiredOption('--reason <text>', 'for the log; the customer does not see it')
    .action(async (accountId: string, options: BlockOptions) => {
      const reason = reasonText(options.reason)
      const block = { accountId, isBlocked, reason, operator: operatorName() }
      const { blockedAt } = await changeAccounts(options, accounts => accounts.setBlocked(block))
      const since = blockedAt === null ? null : new Date(blockedAt).toISOString()
      stdout.write(
        options.json === true
          ? `${JSON.stringify({ id: accountId, blockedAt: since })}\n`
          : `account ${accountId} ${isBlocked ? 'blocked: its keys are refused' : 'unblocked'}\n`,
      )
    })
}
