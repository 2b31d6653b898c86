import type { Command } from 'commander'
import { findAccounts, type FoundAccount } from '../stores/records/find-accounts.ts'
import { formatRoubles } from '../money/amount.ts'
import { isMovement } from '../stores/records/ledger-entries.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { answer, answerList, addCommand, isoTime, UsageError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { checkAccount, readRecords, found, readStore, withRecords, changeAccounts } from './with-store.ts'
import { zonedTime } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'
import { addNote, readNotes, endSessions } from '../administration/account-acts.ts'
import { newId } from '../platform/new-id.ts'
import { operatorName, reasonText } from './arguments.ts'
import { deleteAccount } from '../payments/delete-account.ts'

/** `account find` and `account entries`. */
export function addAccountSearch(account: Command, { stdout }: CliContext): void {
  addCommand(
    account,
    'find <text>',
    "find accounts by email, name, company, a member's email, INN, id, the id or last four characters of a key, or the id of a request",
  )
    // A key may end in -1n0.
    .allowUnknownOption()
    .action(async (text: string, options: SharedOptions) => {
      const accounts = await search(options, text)
      answerList(
        stdout,
        options,
        accounts.map(foundView),
        accounts.length === 0 ? 'no account\n' : foundTable(accounts, openTimeZone(options)),
      )
    })
  addCommand(
    account,
    'entries <account>',
    'list the money that came in and went out, the oldest first; what was used: gateway charges',
  ).action(async (id: string, options: SharedOptions) => {
    const entries = await readRecords(options, records => readMovements(records, id))
    answerList(
      stdout,
      options,
      entries,
      entries.length === 0 ? 'no entries\n' : entryTable(entries, openTimeZone(options)),
    )
  })
}

/** @throws UsageError for an empty or an overlong text */
async function search(options: SharedOptions, text: string): Promise<readonly FoundAccount[]> {
  try {
    return await readRecords(options, records => findAccounts(records, text))
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}

function foundView({ id, email, name, balanceMicros, blockedAt }: FoundAccount): object {
  return { id, email, name, balance: formatRoubles(balanceMicros), blockedAt: isoTime(blockedAt) }
}

function foundTable(accounts: readonly FoundAccount[], zone: string): string {
  const rows = accounts.map(({ id, email, name, balanceMicros, blockedAt }) => ({
    id,
    email: email ?? '',
    name: name ?? '',
    balance: formatRoubles(balanceMicros),
    blocked: blockedAt === null ? '' : zonedTime(blockedAt, zone),
  }))
  return formatTable(rows, ['balance'])
}

interface MovementView {
  readonly entry: string
  readonly at: string
  readonly kind: string
  readonly amount: string
  readonly source: string
  readonly reason: string | null
}

/** @throws CommandError when there is no such account */
async function readMovements(records: RecordReader, id: string): Promise<readonly MovementView[]> {
  await checkAccount(records, id)
  const { build } = records
  const rows = await records.all(
    build
      .selectFrom('entries')
      .select(['exchange_id', 'at', 'kind', 'amount_micros', 'source', 'reason'])
      .where('account_id', '=', id)
      .where(isMovement(records.sql))
      .orderBy('at')
      .orderBy('exchange_id'),
  )
  return rows.map(row => ({
    entry: row.exchange_id,
    at: new Date(row.at).toISOString(),
    kind: row.kind,
    amount: formatRoubles(row.amount_micros),
    source: row.source ?? 'operator',
    reason: row.reason,
  }))
}

function entryTable(entries: readonly MovementView[], zone: string): string {
  const rows = entries.map(({ at, kind, amount, source, entry, reason }) => ({
    at: zonedTime(Date.parse(at), zone),
    kind,
    amount,
    source,
    entry,
    reason: reason ?? '',
  }))
  return formatTable(rows, ['amount'])
}

const listedMax = 1000

/** `account notes`: operators' notes about an account; the customer does not see them. */
export function addAccountNotes(account: Command, { stdout }: CliContext): void {
  addCommand(account, 'notes <account>', 'list what operators noted about an account, or note something')
    .option('--add <text>', 'a note that the customer does not see')
    .action(async (accountId: string, options: SharedOptions & { readonly add?: string }) => {
      const note = options.add === undefined ? undefined : reasonText(options.add, '--add')
      found(await readStore(options, reports => reports.account(accountId)), accountId)
      if (note !== undefined) {
        const added = { id: newId(), accountId, operator: operatorName(), note }
        await withRecords(options, (records, now) => addNote(records, added, now))
      }
      const notes = await readRecords(options, records => readNotes(records, accountId, listedMax))
      const zone = openTimeZone(options)
      const rows = notes.map(({ at, operator, note }) => ({
        at: options.json === true ? new Date(at).toISOString() : zonedTime(at, zone),
        operator,
        note,
      }))
      answerList(stdout, options, rows, rows.length === 0 ? 'no notes\n' : formatTable(rows))
    })
}

interface ReasonOptions extends SharedOptions {
  readonly reason: string
}

/** `account block`, `unblock`, `end-sessions` and `delete`: end or restore access to an account. */
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
      answer(
        stdout,
        options,
        { id: accountId, deleted: true },
        `account ${accountId} deleted; its ledger, payments and documents stay under this id\n`,
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
      answer(
        stdout,
        options,
        { id: accountId, blockedAt: isoTime(blockedAt) },
        `account ${accountId} ${isBlocked ? 'blocked: its keys are refused' : 'unblocked'}\n`,
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
      answer(
        stdout,
        options,
        { id: accountId, sessionsEnded: true },
        `the users of ${accountId} are signed out; their keys still work: account block refuses those\n`,
      )
    })
}
