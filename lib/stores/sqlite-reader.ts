import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { KeyRecord } from '../accounts/accounts.ts'
import type { ChargeLine } from '../ledger/price-charge.ts'
import type { Balance, Micros } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Meters } from '../money/usage.ts'
import { keyRecord } from './sqlite-accounts.ts'
import { openForReading, sqliteErrorCode } from './sqlite-database.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { checkVersion } from './sqlite-prepare.ts'
import { migrations } from './sqlite-schema.ts'
import { verifyLedger } from './sqlite-verify.ts'
import { StoreError } from './store-error.ts'
import type { KeyRow } from './store-operation.ts'

/** A charge as the command line and the gateway's own endpoints show it. Amounts are roubles. */
export interface ChargeReport {
  /** The exchange's id, as `x-gateway-request-id` said it. */
  readonly requestId: string
  readonly sequence: number
  readonly at: string
  readonly account: string
  /** The key's id. */
  readonly key: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  /** The meters of all lines together. */
  readonly usage: Meters
  readonly usageSource: string
  readonly lines: readonly {
    readonly model: string
    readonly meters: Meters
    readonly tier?: string
    readonly variant?: string
    readonly priceVersion: string
    readonly amount: string
  }[]
  readonly details?: Readonly<Record<string, number>>
  /** What the account paid. */
  readonly amount: string
  /** What the usage cost beyond the money there was; absent when there was enough. */
  readonly overrun?: string
  readonly flags: readonly string[]
}

export interface AccountReport extends Balance {
  readonly id: string
  readonly name: string | undefined
  readonly email: string
  readonly createdAt: number
}

export interface ChargesFilter {
  /** Only charges with flags: what an operator should look at. */
  readonly alarmsOnly?: boolean
  readonly exchangeId?: string
  readonly keyId?: string
}

/** Reads a store beside its writer, or without one. */
export interface SqliteReader {
  /** The balance as it is on the disk; undefined for an unknown account. */
  balance(accountId: string): Balance | undefined
  /** Oldest first; of all accounts when none is named. */
  charges(accountId: string | undefined, filter?: ChargesFilter): IterableIterator<ChargeReport>
  accounts(): AccountReport[]
  account(id: string): AccountReport | undefined
  keys(accountId: string): KeyRecord[]
  /** What is wrong with the ledger, as sentences; empty when every invariant holds. */
  verify(): readonly string[]
  /** Writes a whole, consistent copy; the file must not exist. */
  backup(file: string): void
  close(): void
}

interface ChargeRow {
  readonly exchange_id: string
  readonly sequence: number
  readonly at: number
  readonly account_id: string
  readonly key_id: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  readonly usage_source: string
  readonly lines: string
  readonly details: string | null
  readonly flags: string
  readonly amount_micros: Micros
  readonly overrun_micros: Micros
}

interface AccountRow {
  readonly id: string
  readonly name: string | null
  readonly email: string
  readonly created_at: number
  readonly balance_micros: Micros
  readonly held_micros: Micros
}

function sumOfLines(lines: readonly ChargeLine[]): Meters {
  const sum: Record<string, number> = {}
  for (const line of lines) {
    for (const [meter, units] of Object.entries(line.meters)) sum[meter] = (sum[meter] ?? 0) + units
  }
  return sum
}

function chargeReport(row: ChargeRow): ChargeReport {
  const lines: readonly ChargeLine[] = JSON.parse(row.lines)
  return {
    requestId: row.exchange_id,
    sequence: row.sequence,
    at: new Date(row.at).toISOString(),
    account: row.account_id,
    key: row.key_id,
    provider: row.provider,
    model: row.model,
    dialect: row.dialect,
    operation: row.operation,
    outcome: row.outcome,
    usage: sumOfLines(lines),
    usageSource: row.usage_source,
    lines: lines.map(({ amountMicros, ...line }) => ({ ...line, amount: formatRoubles(amountMicros) })),
    ...(row.details === null ? {} : { details: JSON.parse(row.details) }),
    amount: formatRoubles(row.amount_micros),
    ...(row.overrun_micros === 0 ? {} : { overrun: formatRoubles(row.overrun_micros) }),
    flags: JSON.parse(row.flags),
  }
}

function accountReport(row: AccountRow): AccountReport {
  return {
    id: row.id,
    name: row.name ?? undefined,
    email: row.email,
    createdAt: row.created_at,
    balanceMicros: row.balance_micros,
    heldMicros: row.held_micros,
    availableMicros: row.balance_micros - row.held_micros,
  }
}

const selectAccounts = `SELECT id, name, email, created_at, balance_micros,
  (SELECT coalesce(sum(amount_micros), 0) FROM holds INDEXED BY holds_open
   WHERE state = 'open' AND account_id = accounts.id) AS held_micros
  FROM accounts WHERE kind = 'customer'`

function* readCharges(
  database: SqliteDatabase,
  accountId: string | undefined,
  filter: ChargesFilter,
): IterableIterator<ChargeReport> {
  const conditions = ['revision = 0']
  const values: string[] = []
  const require = (column: string, value: string | undefined): void => {
    if (value === undefined) return
    conditions.push(`${column} = ?`)
    values.push(value)
  }
  require('account_id', accountId)
  require('exchange_id', filter.exchangeId)
  require('key_id', filter.keyId)
  if (filter.alarmsOnly === true) conditions.push(`flags <> '[]'`)
  const statement = database.prepare<string[], ChargeRow>(
    `SELECT * FROM charges WHERE ${conditions.join(' AND ')} ORDER BY id`,
  )
  for (const row of statement.iterate(...values)) yield chargeReport(row)
}

function open(file: string): SqliteDatabase {
  if (!existsSync(file)) {
    throw new StoreError(
      `there is no store at ${file} yet: "gateway serve" makes it, as does "account create"`,
    )
  }
  let database: SqliteDatabase | undefined
  try {
    database = openForReading(file)
    if (checkVersion(database, file) < migrations.length) {
      throw new StoreError(
        `${file} is of an older release: start the gateway once, which brings it up to date`,
      )
    }
    return database
  } catch (error) {
    database?.close()
    const code = sqliteErrorCode(error)
    if (code === undefined) throw error
    throw new StoreError(`${file} cannot be read (${code})`, { cause: error })
  }
}

/**
 * Opens a store for reading, beside a running server or without one.
 * @throws StoreError when it is missing, damaged or of a newer program
 */
export function openSqliteReader(file: string): SqliteReader {
  const database = open(resolve(file))
  const account = database.prepare<[string], AccountRow>(`${selectAccounts} AND id = ?`)
  const findAccount = (id: string): AccountReport | undefined => {
    const row = account.get(id)
    return row === undefined ? undefined : accountReport(row)
  }
  return {
    balance(accountId) {
      const found = findAccount(accountId)
      if (found === undefined) return undefined
      const { balanceMicros, heldMicros, availableMicros } = found
      return { balanceMicros, heldMicros, availableMicros }
    },
    charges: (accountId, filter = {}) => readCharges(database, accountId, filter),
    accounts: () =>
      database.prepare<[], AccountRow>(`${selectAccounts} ORDER BY created_at, id`).all().map(accountReport),
    account: findAccount,
    keys: accountId =>
      database
        .prepare<[string], KeyRow>('SELECT * FROM keys WHERE account_id = ? ORDER BY created_at, id')
        .all(accountId)
        .map(keyRecord),
    verify: () => verifyLedger(database),
    backup(copy) {
      if (existsSync(copy)) throw new StoreError(`${copy} exists already; a backup overwrites nothing`)
      database.prepare('VACUUM INTO ?').run(copy)
    },
    close: () => database.close(),
  }
}
