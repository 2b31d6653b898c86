import type { KeyRecord } from '../../accounts/accounts.ts'
import type { Clock } from '../../platform/clock.ts'
import { budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import type { KeyBudget } from '../../ledger/key-spending.ts'
import { noRisk, type RiskRule } from '../../ledger/risk.ts'
import { unremarkableFlags } from '../../ledger/charge-flags.ts'
import type { HeldSums } from '../../ledger/ledger.ts'
import type { ChargeReport, ChargesFilter, Reports } from '../../ledger/reports.ts'
import {
  chargesById,
  conditions,
  type Conditions,
  accountReport,
  chargeColumns,
  chargeReport,
  type AccountRow,
  type ChargeRow,
} from './report-rows.ts'
import { chargedPrices, recomputeCharges, repriceCharges, storedPrices } from './stored-prices.ts'
import { chargesPage, keyUses, modelSpending } from './account-reports.ts'
import { chargedModels, chargesTotal, exchangeCharges, exportCharges, findCharges } from './charge-search.ts'
import { keyRecord } from './stored-keys.ts'
import type { KeyRow } from './ledger-columns.ts'
import type { QueryValue, StoreQueries } from './store-queries.ts'
import { examplesMax, findBreaches } from './ledger-invariants.ts'

/** The sum of a column over the account's open holds. */
const sumOf = (column: string): string =>
  `(SELECT CAST(coalesce(sum(holds.${column}), 0) AS BIGINT) FROM holds
    WHERE state = 'open' AND account_id = accounts.id)`

const selectAccounts = `SELECT id, name, email, created_at, balance_micros, debt_micros, paid_micros,
  ${sumOf('amount_micros')} AS held_sum, ${sumOf('worst_micros')} AS worst_sum
  FROM accounts WHERE kind = 'customer'`

export interface ReportsOptions {
  readonly clock: Clock
  readonly riskRule?: () => RiskRule
}

/** Recomputes every charge from its meters and the price that it names. */
async function recomputed(queries: StoreQueries): Promise<string[]> {
  const { damaged } = await storedPrices(queries)
  const breaches = damaged.map(hash => `a price is not what its version says: ${hash}`)
  for await (const { requestId, sequence, differences } of recomputeCharges(queries, 0)) {
    for (const difference of differences) breaches.push(`${difference}: ${requestId}/${sequence}`)
    if (breaches.length >= examplesMax) return [...breaches, 'and more charges that are not what they cost']
  }
  return breaches
}

/**
 * Checks every invariant of the ledger. All queries should see one state of the store.
 * @returns the breaches as sentences; empty when there are none
 */
async function verifyLedger(queries: StoreQueries): Promise<readonly string[]> {
  return [...(await findBreaches(queries)), ...(await recomputed(queries))]
}

/** Reports from a store of either kind. */
export function storeReports(
  queries: StoreQueries,
  { clock, riskRule = () => noRisk }: ReportsOptions,
): Reports {
  const readAccounts = async (which: string, values: readonly QueryValue[] = []) => {
    const rows = await queries.all<AccountRow>(`${selectAccounts} ${which}`, values)
    const rule = riskRule()
    return rows.map(row => accountReport(row, rule))
  }
  const account = async (id: string) => (await readAccounts('AND id = ?', [id]))[0]
  const readKeys = async (which: string, values: readonly QueryValue[] = []) =>
    (await queries.all<KeyRow>(`SELECT * FROM keys ${which}`, values)).map(keyRecord)
  return {
    async balance(accountId) {
      const found = await account(accountId)
      if (found === undefined) return undefined
      const { id: _id, name: _name, email: _email, createdAt: _createdAt, ...balance } = found
      return balance
    },
    charges: (accountId, filter) => readCharges(queries, accountId, filter),
    chargesPage: (accountId, which, limit) => chargesPage(queries, accountId, which, limit),
    accounts: () => readAccounts('ORDER BY created_at, id'),
    account,
    keys: accountId =>
      accountId === undefined
        ? readKeys('ORDER BY created_at, id')
        : readKeys('WHERE account_id = ? ORDER BY created_at, id', [accountId]),
    keyBudget: key => readKeyBudget(queries, key, clock.now()),
    key: async (accountId, keyId) =>
      (await readKeys('WHERE id = ? AND account_id = ?', [keyId, accountId]))[0],
    keyUses: (accountId, which) => keyUses(queries, accountId, clock.now(), which),
    modelSpending: (accountId, fromDay) => modelSpending(queries, accountId, fromDay),
    latestCharges: (accountId, limit) => latestCharges(queries, accountId, limit),
    findCharges: (accountId, search, page) => findCharges(queries, accountId, search, page),
    exportCharges: (accountId, search) => exportCharges(queries, accountId, search),
    chargesTotal: (accountId, search) => chargesTotal(queries, accountId, search),
    chargedModels: (accountId, limit) => chargedModels(queries, accountId, limit),
    exchangeCharges: (accountId, exchangeId, page) => exchangeCharges(queries, accountId, exchangeId, page),
    recompute: since => recomputeCharges(queries, since),
    reprice: (since, prices) => repriceCharges(queries, since, prices),
    chargedPrices: (model, since) => chargedPrices(queries, model, since),
    verify: () => queries.withoutHurry(verifyLedger),
    close: () => queries.close(),
  }
}

async function* readCharges(
  queries: StoreQueries,
  accountId: string | undefined,
  filter: ChargesFilter = {},
): AsyncGenerator<ChargeReport, void, void> {
  const afterId = filter.after === undefined ? 0 : await chargeId(queries, filter.after)
  if (afterId === undefined) return
  const which = chargeConditions(accountId, filter)
  for await (const rows of chargesById<ChargeRow>(queries, chargeColumns, which, afterId))
    for (const row of rows) yield chargeReport(row)
}

async function chargeId(queries: StoreQueries, exchangeId: string): Promise<number | undefined> {
  const [last] = await queries.all<{ readonly id: number | null }>(
    'SELECT max(id) AS id FROM charges WHERE exchange_id = ?',
    [exchangeId],
  )
  return last?.id ?? undefined
}

async function latestCharges(
  queries: StoreQueries,
  accountId: string,
  limit: number,
): Promise<readonly ChargeReport[]> {
  const rows = await queries.all<ChargeRow>(
    `SELECT ${chargeColumns} FROM charges WHERE account_id = ? AND revision = 0 ORDER BY id DESC LIMIT ?`,
    [accountId, limit],
  )
  return rows.map(chargeReport)
}

async function readKeyBudget(
  queries: StoreQueries,
  { id, accountId, budgetMicros, budgetPeriod = 'total' }: KeyRecord,
  now: number,
): Promise<KeyBudget | undefined> {
  if (budgetMicros === undefined) return undefined
  const { from, until } = budgetDays(budgetPeriod, now)
  const [sums] = await queries.all<{ readonly spent: number } & HeldSums>(
    `SELECT
       (SELECT CAST(coalesce(sum(spent_micros), 0) AS BIGINT) FROM key_spending
        WHERE key_id = ? AND day >= ? AND day < ?) AS spent,
       CAST(coalesce(sum(amount_micros), 0) AS BIGINT) AS "likelyMicros",
       CAST(coalesce(sum(worst_micros), 0) AS BIGINT) AS "worstMicros"
     FROM holds WHERE state = 'open' AND account_id = ? AND key_id = ?`,
    [id, Math.max(from, 0), Math.min(until, 2 ** 31 - 1), accountId, id],
  )
  const { spent, ...held } = sums ?? { spent: 0, likelyMicros: 0, worstMicros: 0 }
  return keyBudget({ budgetMicros, period: budgetPeriod }, spent, held, now)
}

function chargeConditions(accountId: string | undefined, filter: ChargesFilter): Conditions {
  const { sql, values } = conditions([
    // The expression keeps SQLite from using the account's index, which leads to all charges of the account.
    [filter.exchangeId === undefined ? 'account_id = ?' : `account_id || '' = ?`, accountId],
    ['exchange_id = ?', filter.exchangeId],
    ['key_id = ?', filter.keyId],
    ['at >= ?', filter.since],
    ['at < ?', filter.until],
  ])
  if (filter.alarmsOnly !== true) return { sql, values }
  const places = unremarkableFlags.map(() => '?').join()
  return {
    sql: `${sql} AND (flags NOT IN (${places}) OR usage_source = 'estimated')`,
    values: [...values, ...unremarkableFlags],
  }
}
