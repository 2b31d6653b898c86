import type { KeyRecord } from '../../accounts/accounts.ts'
import type { Clock } from '../../platform/clock.ts'
import { budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import type { KeyBudget } from '../../ledger/key-spending.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import type {
  ChargeRecord,
  ChargeSearch,
  ChargesPage,
  ChargesTotal,
  ExchangeCharges,
} from '../../ledger/charge-records.ts'
import { unremarkableFlags } from '../../ledger/charge-flags.ts'
import type { Balance, HeldSums } from '../../ledger/ledger.ts'
import type {
  AccountReport,
  ChargeReport,
  ChargeReportsPage,
  ChargedPrice,
  ChargesAfter,
  ChargesFilter,
  KeyUse,
  ModelCost,
  ModelSpending,
  PriceOf,
  RecomputedCharge,
  Reports,
} from '../../ledger/reports.ts'
import { chargedPrices, storedPrices } from './stored-prices.ts'
import { chargesPage, keyUses, modelSpending } from './account-reports.ts'
import { chargedModels, chargesTotal, exchangeCharges, exportCharges, findCharges } from './charge-search.ts'
import { keyRecord } from './stored-keys.ts'
import { recomputeCharges, repriceCharges } from './recompute-charges.ts'
import { accountReport, chargeColumns, chargeReport, type AccountRow, type ChargeRow } from './report-rows.ts'
import type { KeyRow } from './store-operation.ts'
import type { QueryValue, StoreQueries } from './store-queries.ts'
import { invariants } from './ledger-invariants.ts'

/** Charges are read this many at a time, so that nothing else waits long for the thread. */
const pageRows = 500

/** Of the open holds, as both stores have them. */
const sumOf = (column: string): string =>
  `(SELECT CAST(coalesce(sum(holds.${column}), 0) AS BIGINT) FROM holds
    WHERE state = 'open' AND account_id = accounts.id)`

const selectAccounts = `SELECT id, name, email, created_at, balance_micros, debt_micros, paid_micros,
  ${sumOf('amount_micros')} AS held_sum, ${sumOf('worst_micros')} AS worst_sum
  FROM accounts WHERE kind = 'customer'`

interface ReportsOptions {
  readonly clock: Clock
  readonly riskRule: () => RiskRule
  /** What only one kind of store can have wrong, as sentences. */
  readonly verifyMore?: (queries: StoreQueries) => Promise<readonly string[]>
}

/** At most so many breaches of one kind are told one by one. */
const examplesMax = 20

async function breachesOf(queries: StoreQueries, sentence: string, query: string): Promise<string[]> {
  const rows = await queries.all<{ readonly name: unknown }>(
    `SELECT name FROM (${query}) AS breaches LIMIT ${examplesMax + 1}`,
  )
  const breaches = rows.slice(0, examplesMax).map(({ name }) => `${sentence}: ${String(name)}`)
  return rows.length > examplesMax ? [...breaches, `${sentence}: and more of them`] : breaches
}

/** Works every charge out again from its meters and the price that it names. */
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
 * Checks every invariant of the ledger. What is read should be one state of the store.
 * @returns the breaches as sentences; empty when all is well
 */
async function verifyLedger(queries: StoreQueries): Promise<readonly string[]> {
  const breaches: string[] = []
  for (const [sentence, query] of invariants) breaches.push(...(await breachesOf(queries, sentence, query)))
  return [...breaches, ...(await recomputed(queries))]
}

/** Reads a store of either kind. */
export class StoreReports implements Reports {
  readonly #queries: StoreQueries
  readonly #options: ReportsOptions

  constructor(queries: StoreQueries, options: ReportsOptions) {
    this.#queries = queries
    this.#options = options
  }

  async balance(accountId: string): Promise<Balance | undefined> {
    const found = await this.account(accountId)
    if (found === undefined) return undefined
    const { id: _id, name: _name, email: _email, createdAt: _createdAt, ...balance } = found
    return balance
  }

  async *charges(
    accountId: string | undefined,
    filter: ChargesFilter = {},
  ): AsyncGenerator<ChargeReport, void, void> {
    const { conditions, values } = chargeConditions(accountId, filter)
    const beganAfter = filter.after === undefined ? 0 : await this.#chargeId(filter.after)
    if (beganAfter === undefined) return
    let afterId: number = beganAfter
    const select = `SELECT ${chargeColumns} FROM charges WHERE ${conditions.join(' AND ')} AND id > ? ORDER BY id LIMIT ?`
    for (;;) {
      const rows: readonly ChargeRow[] = await this.#queries.all(select, [...values, afterId, pageRows])
      for (const row of rows) yield chargeReport(row)
      const last: ChargeRow | undefined = rows[pageRows - 1]
      if (last === undefined) return
      afterId = last.id
    }
  }

  chargesPage(accountId: string, which: ChargesAfter, limit: number): Promise<ChargeReportsPage> {
    return chargesPage(this.#queries, accountId, which, limit)
  }

  async accounts(): Promise<readonly AccountReport[]> {
    const rows = await this.#queries.all<AccountRow>(`${selectAccounts} ORDER BY created_at, id`)
    const rule = this.#options.riskRule()
    return rows.map(row => accountReport(row, rule))
  }

  async account(id: string): Promise<AccountReport | undefined> {
    const [row] = await this.#queries.all<AccountRow>(`${selectAccounts} AND id = ?`, [id])
    return row === undefined ? undefined : accountReport(row, this.#options.riskRule())
  }

  async keys(accountId?: string): Promise<readonly KeyRecord[]> {
    const rows = await this.#queries.all<KeyRow>(
      `SELECT * FROM keys ${accountId === undefined ? '' : 'WHERE account_id = ?'} ORDER BY created_at, id`,
      accountId === undefined ? [] : [accountId],
    )
    return rows.map(keyRecord)
  }

  async keyBudget(key: KeyRecord): Promise<KeyBudget | undefined> {
    const { id, accountId, budgetMicros, budgetPeriod = 'total' } = key
    if (budgetMicros === undefined) return undefined
    const now = this.#options.clock.now()
    const { from, until } = budgetDays(budgetPeriod, now)
    const [sums] = await this.#queries.all<{ readonly spent: number } & HeldSums>(
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

  async key(accountId: string, keyId: string): Promise<KeyRecord | undefined> {
    const [row] = await this.#queries.all<KeyRow>('SELECT * FROM keys WHERE id = ? AND account_id = ?', [
      keyId,
      accountId,
    ])
    return row === undefined ? undefined : keyRecord(row)
  }

  keyUses(
    accountId: string,
    which: { readonly isRevoked: boolean; readonly limit: number },
  ): Promise<readonly KeyUse[]> {
    return keyUses(this.#queries, accountId, this.#options.clock.now(), which)
  }

  modelSpending(accountId: string, fromDay: number): Promise<readonly ModelSpending[]> {
    return modelSpending(this.#queries, accountId, fromDay)
  }

  async latestCharges(accountId: string, limit: number): Promise<readonly ChargeReport[]> {
    const rows = await this.#queries.all<ChargeRow>(
      `SELECT ${chargeColumns} FROM charges WHERE account_id = ? AND revision = 0 ORDER BY id DESC LIMIT ?`,
      [accountId, limit],
    )
    return rows.map(chargeReport)
  }

  findCharges(
    accountId: string,
    search: ChargeSearch,
    page: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<ChargesPage> {
    return findCharges(this.#queries, accountId, search, page)
  }

  exportCharges(accountId: string, search: ChargeSearch): AsyncIterable<readonly ChargeRecord[]> {
    return exportCharges(this.#queries, accountId, search)
  }

  chargesTotal(accountId: string, search: ChargeSearch): Promise<ChargesTotal> {
    return chargesTotal(this.#queries, accountId, search)
  }

  chargedModels(accountId: string, limit: number): Promise<readonly string[]> {
    return chargedModels(this.#queries, accountId, limit)
  }

  exchangeCharges(
    accountId: string,
    exchangeId: string,
    page: { readonly from: number; readonly limit: number },
  ): Promise<ExchangeCharges | undefined> {
    return exchangeCharges(this.#queries, accountId, exchangeId, page)
  }

  recompute(since: number): AsyncIterable<RecomputedCharge> {
    return recomputeCharges(this.#queries, since)
  }

  reprice(
    since: number,
    prices: { readonly before: PriceOf; readonly after: PriceOf },
  ): Promise<readonly ModelCost[]> {
    return repriceCharges(this.#queries, since, prices)
  }

  chargedPrices(model: string, since: number): Promise<readonly ChargedPrice[]> {
    return chargedPrices(this.#queries, model, since)
  }

  verify(): Promise<readonly string[]> {
    return this.#queries.withoutHurry(async queries => [
      ...((await this.#options.verifyMore?.(queries)) ?? []),
      ...(await verifyLedger(queries)),
    ])
  }

  close(): Promise<void> {
    return this.#queries.close()
  }

  async #chargeId(exchangeId: string): Promise<number | undefined> {
    const [last] = await this.#queries.all<{ readonly id: number | null }>(
      'SELECT max(id) AS id FROM charges WHERE exchange_id = ?',
      [exchangeId],
    )
    return last?.id ?? undefined
  }
}

function chargeConditions(accountId: string | undefined, filter: ChargesFilter) {
  const conditions = ['revision = 0']
  const values: QueryValue[] = []
  const require = (condition: string, value: QueryValue | undefined): void => {
    if (value === undefined) return
    conditions.push(condition)
    values.push(value)
  }
  // SQLite would take the account's index, which leads to all its charges; of an expression it cannot.
  require(filter.exchangeId === undefined ? 'account_id = ?' : `account_id || '' = ?`, accountId)
  require('exchange_id = ?', filter.exchangeId)
  require('key_id = ?', filter.keyId)
  require('at >= ?', filter.since)
  require('at < ?', filter.until)
  if (filter.alarmsOnly === true) {
    conditions.push(
      `(flags NOT IN (${unremarkableFlags.map(() => '?').join()}) OR usage_source = 'estimated')`,
    )
    values.push(...unremarkableFlags)
  }
  return { conditions, values }
}
