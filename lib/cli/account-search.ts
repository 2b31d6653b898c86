import type { Command } from 'commander'
import { findAccounts } from '../stores/records/find-accounts.ts'
import type { FoundAccount } from '../stores/records/find-accounts.ts'
import { formatRoubles } from '../money/amount.ts'
import { isMovement } from '../stores/records/is-movement.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError, UsageError } from './context.ts'
import type { CliContext } from './context.ts'
import { formatTable } from './table.ts'
import { readRecords } from './with-records.ts'
import { zonedTime } from '../platform/clock.ts'
import { openTimeZone } from './open-config.ts'

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
      if (options.json === true)
        for (const one of accounts) stdout.write(`${JSON.stringify(foundView(one))}\n`)
      else stdout.write(accounts.length === 0 ? 'no account\n' : foundTable(accounts, openTimeZone(options)))
    })
  addCommand(
    account,
    'entries <account>',
    'list the money that came in and went out, the oldest first; what was used: gateway charges',
  ).action(async (id: string, options: SharedOptions) => {
    const entries = await readRecords(options, records => readMovements(records, id))
    if (options.json === true) for (const one of entries) stdout.write(`${JSON.stringify(one)}\n`)
    else stdout.write(entries.length === 0 ? 'no entries\n' : entryTable(entries, openTimeZone(options)))
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
  return {
    id,
    email,
    name,
    balance: formatRoubles(balanceMicros),
    blockedAt: blockedAt === null ? null : new Date(blockedAt).toISOString(),
  }
}

function foundTable(accounts: readonly FoundAccount[], zone: string): string {
  const rows = accounts.map(({ id, email, name, balanceMicros, blockedAt }) => ({
    id,
    email: email ?? '',
    name: name ?? '',
    balance: formatRoubles(balanceMicros),
    blocked: blockedAt === null ? '' : zonedTime(blockedAt, zone),
  }))
  return formatTable(rows, { id: 'left', email: 'left', name: 'left', balance: 'right', blocked: 'left' })
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
  const { build } = records
  const [account] = await records.all(build.selectFrom('accounts').select('id').where('id', '=', id))
  if (account === undefined) {
    throw new CommandError(`there is no account ${id}: gateway account find searches for one`)
  }
  const rows = await records.all(
    build
      .selectFrom('entries')
      .select(['exchange_id', 'at', 'kind', 'amount_micros', 'source', 'reason'])
      .where('account_id', '=', id)
      .where(isMovement)
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
  const rows = entries.map(({ at, reason, ...rest }) => ({
    ...rest,
    at: zonedTime(Date.parse(at), zone),
    reason: reason ?? '',
  }))
  return formatTable(rows, {
    at: 'left',
    kind: 'left',
    amount: 'right',
    source: 'left',
    entry: 'left',
    reason: 'left',
  })
}
