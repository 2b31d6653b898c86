import type { Command } from 'commander'
import { deleteAccount } from '../payments/delete-account.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { operatorName, reasonText } from './arguments.ts'
import type { CliContext } from './context.ts'
import { withRecords } from './with-records.ts'

interface DeleteOptions extends SharedOptions {
  readonly reason: string
}

/** `account delete`. */
export function addAccountDeletion(account: Command, { stdout }: CliContext): void {
  addCommand(
    account,
    'delete <account>',
    'close an account for good: keys are revoked, what is personal is removed; ledger, payments and documents stay',
  )
    .requiredOption('--reason <text>', 'for the log')
    .action(async (accountId: string, options: DeleteOptions) => {
      const deletion = { accountId, reason: reasonText(options.reason), operator: operatorName() }
      await withRecords(options, (records, now, accounts) =>
        deleteAccount({ records, accounts }, deletion, now),
      )
      stdout.write(
        options.json === true
          ? `${JSON.stringify({ id: accountId, deleted: true })}\n`
          : `account ${accountId} deleted; its ledger, payments and documents stay under this id\n`,
      )
    })
}
