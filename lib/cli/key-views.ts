import type { Command } from 'commander'
import type { KeyRecord } from '../accounts/accounts.ts'
import { systemClock } from '../platform/clock.ts'
import { formatRoubles } from '../money/amount.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import type { CliContext } from './context.ts'
import { found, readStore } from './read-store.ts'
import { formatTable, formatTime } from './table.ts'

interface ListOptions extends SharedOptions {
  readonly account: string
}

/** `key list`; a key's value is in no store. */
export function addKeyViews(key: Command, { stdout }: CliContext): void {
  addCommand(key, 'list', 'list the keys of an account; their values are not known')
    .requiredOption('--account <id>', 'the account')
    .action(async (options: ListOptions) => {
      const { account } = options
      const keys = await readStore(options, async reports => {
        found(await reports.account(account), account)
        return reports.keys(account)
      })
      if (options.json === true) for (const one of keys) stdout.write(`${JSON.stringify(keyView(one))}\n`)
      else stdout.write(keyTable(keys))
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
export function keyTable(keys: readonly KeyRecord[]): string {
  if (keys.length === 0) return 'no keys: gateway key create makes one\n'
  const rows = keys.map(key => ({
    id: key.id,
    name: key.name,
    ends: `...${key.lastFour}`,
    state: stateOf(key),
    created: formatTime(key.createdAt),
    models: key.models?.join(', ') ?? 'all',
    budget:
      key.budgetMicros === undefined ? '' : `${formatRoubles(key.budgetMicros)} ${key.budgetPeriod ?? ''}`,
    expires: key.expiresAt === undefined ? '' : formatTime(key.expiresAt),
  }))
  return formatTable(rows, {
    id: 'left',
    name: 'left',
    ends: 'left',
    state: 'left',
    created: 'left',
    models: 'left',
    budget: 'left',
    expires: 'left',
  })
}
