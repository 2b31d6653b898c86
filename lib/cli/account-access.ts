import type { Command } from 'commander'
import { endSessions } from '../administration/end-sessions.ts'
import { deleteAccount } from '../payments/delete-account.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { operatorName, reasonText } from './arguments.ts'
import { changeAccounts } from './change-accounts.ts'
import type { CliContext } from './context.ts'
import { withRecords } from './with-records.ts'

interface ReasonOptions extends SharedOptions {
  readonly reason: string
}

/** `account block`, `unblock`, `end-sessions` and `delete`: who may still use an account. */
export function addAccountAccess(account: Command, context: CliContext): void {
  addBlock(account, context, 'block')
  addBlock(account, context, 'unblock')
  addSessionEnd(account, context)
  addDeletion(account, context)
}

/** `account delete`. */
function addDeletion(account: Command, { stdout }: CliContext): void {
  addCommand(
    account,
    'delete <account>',
    'close an account for good: keys are revoked, what is personal is removed; ledger, payments and documents stay',
  )
    .requiredOption('--reason <text>', 'for the log')
    .action(async (accountId: string, options: ReasonOptions) => {
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

function addBlock(account: Command, { stdout }: CliContext, name: 'block' | 'unblock'): void {
  const isBlocked = name === 'block'
  addCommand(
    account,
    `${name} <account>`,
    isBlocked ? 'refuse all keys of an account; what runs is finished and charged' : 'end a block',
  )
    .requiredOption('--reason <text>', 'for the log; the customer does not see it')
    .action(async (accountId: string, options: ReasonOptions) => {
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

/** `account end-sessions`. */
function addSessionEnd(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'end-sessions <account>', "sign all users of an account out of the customers' pages")
    .requiredOption('--reason <text>', 'for the log; the customer does not see it')
    .action(async (accountId: string, options: ReasonOptions) => {
      const ended = { accountId, reason: reasonText(options.reason), operator: operatorName() }
      await withRecords(options, (records, now) => endSessions(records, ended, now))
      stdout.write(
        options.json === true
          ? `${JSON.stringify({ id: accountId, sessionsEnded: true })}\n`
          : `the users of ${accountId} are signed out; their keys still work: account block refuses those\n`,
      )
    })
}
