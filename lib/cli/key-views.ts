import type { Command } from 'commander'
import type { KeyRecord } from '../accounts/accounts.ts'
import { systemClock, zonedTime } from '../platform/clock.ts'
import { formatRoubles } from '../money/amount.ts'
import { findKeys } from '../stores/records/find-accounts.ts'
import { answerList, addCommand, UsageError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { found, readStore, readRecords } from './with-store.ts'
import { openTimeZone } from './open-config.ts'

/** More than this names nothing that can be searched for. */
const searchLengthMax = 200

interface ListOptions extends SharedOptions {
  readonly account?: string
  readonly all?: boolean
}

/** `key list` and `key find`; a key's value is in no store. */
export function addKeyViews(key: Command, { stdout }: CliContext): void {
  const print = (options: SharedOptions, keys: readonly KeyRecord[]): void => {
    answerList(stdout, options, keys.map(keyView), keyTable(keys, openTimeZone(options)))
  }
  addCommand(key, 'list', 'list the keys of an account; their values are not known')
    .option('--account <id>', 'the account')
    .option('--all', 'those of all accounts')
    .action(async (options: ListOptions) => {
      const { account, all = false } = options
      if ((account === undefined) !== all) throw new UsageError('name either --account or --all')
      const keys = await readStore(options, async reports => {
        if (account !== undefined) found(await reports.account(account), account)
        return reports.keys(account)
      })
      print(options, keys)
    })
  addCommand(key, 'find <text>', 'find keys by id, last four characters, or a part of the name')
    // A key may end in -1n0.
    .allowUnknownOption()
    .action(async (text: string, options: SharedOptions) => {
      if (text.trim() === '' || text.length > searchLengthMax)
        throw new UsageError(`a search takes 1 to ${searchLengthMax} characters`)
      const ids = await readRecords(options, records => findKeys(records, text.trim()))
      const keys = await readStore(options, reports =>
        Promise.all(ids.map(({ id, account_id }) => reports.key(account_id, id))),
      )
      print(
        options,
        keys.filter(one => one !== undefined),
      )
    })
}

/** A key as JSON: times are ISO, money is roubles, what is not limited is null. */
export function keyView(key: KeyRecord) {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    lastFour: key.lastFour,
    state: stateOf(key),
    createdAt: isoTime(key.createdAt),
    models: key.models ?? null,
    budget: key.budgetMicros === undefined ? null : formatRoubles(key.budgetMicros),
    budgetPeriod: key.budgetPeriod ?? null,
    expiresAt: isoTime(key.expiresAt),
    ipAddresses: key.ipAddresses ?? null,
    revokedAt: isoTime(key.revokedAt),
  }
}

function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

function stateOf(key: KeyRecord): 'active' | 'blocked' | 'expired' | 'revoked' {
  if (key.revokedAt !== undefined) return 'revoked'
  if (key.blockedAt !== undefined) return 'blocked'
  return key.expiresAt !== undefined && key.expiresAt <= systemClock.now() ? 'expired' : 'active'
}

/** Keys as a table for people. */
export function keyTable(keys: readonly KeyRecord[], zone: string): string {
  if (keys.length === 0) return 'no keys: gateway key create makes one\n'
  const rows = keys.map(key => ({
    id: key.id,
    account: key.accountId,
    name: key.name,
    ends: `...${key.lastFour}`,
    state: stateOf(key),
    created: zonedTime(key.createdAt, zone),
    models: key.models?.join(', ') ?? 'all',
    budget:
      key.budgetMicros === undefined ? '' : `${formatRoubles(key.budgetMicros)} ${key.budgetPeriod ?? ''}`,
    expires: key.expiresAt === undefined ? '' : zonedTime(key.expiresAt, zone),
  }))
  return formatTable(rows, {
    id: 'left',
    account: 'left',
    name: 'left',
    ends: 'left',
    state: 'left',
    created: 'left',
    models: 'left',
    budget: 'left',
    expires: 'left',
  })
}
