import { recomputeCharge, type ChargeLine } from '../../ledger/price-charge.ts'
import type { ChargedPrice, ModelCost, PriceOf, RecomputedCharge } from '../../ledger/reports.ts'
import { priceLine } from '../../money/price-line.ts'
import { priceHash } from '../../money/pricing.ts'
import type { Price } from '../../money/price.ts'
import type { ledgerColumns } from './ledger-columns.ts'
import { chargesById, conditions } from './report-rows.ts'
import type { RowOf } from './store-schema.ts'
import type { StoreQueries } from './store-queries.ts'

/** `hash` is the hash of `body`, the price's canonical text. */
type PriceRow = Pick<RowOf<typeof ledgerColumns.prices>, 'hash' | 'body'>

interface StoredPrices {
  readonly prices: ReadonlyMap<string, Price>
  /** Versions whose text does not match their hash. */
  readonly damaged: readonly string[]
}

function read(rows: readonly PriceRow[]): StoredPrices {
  const prices = new Map<string, Price>()
  const damaged: string[] = []
  for (const { hash, body } of rows) {
    if (priceHash(body) === hash) prices.set(hash, { hash, ...JSON.parse(body) })
    else damaged.push(hash)
  }
  return { prices, damaged }
}

/** All price versions, as they were when they were in force. */
export async function storedPrices(queries: StoreQueries): Promise<StoredPrices> {
  return read(await queries.all<PriceRow>('SELECT hash, body FROM prices'))
}

/** The requested price versions; damaged ones are left out. */
export async function storedPricesOf(
  queries: Pick<StoreQueries, 'all'>,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Price>> {
  if (hashes.length === 0) return new Map()
  const places = hashes.map(() => '?').join(', ')
  const rows = await queries.all<PriceRow>(`SELECT hash, body FROM prices WHERE hash IN (${places})`, hashes)
  return read(rows).prices
}

/** The number of a model's versions that are considered, newest first. */
const versionsMax = 40
/** The number of charges that are searched for the prices that they name, latest first. */
const chargesMax = 2000

interface Use {
  lastAt: number
  lines: number
}

/**
 * The versions of a model's price that charges since a time name: those that were stored since then, and those that the
 * latest charges name.
 */
export async function chargedPrices(
  queries: StoreQueries,
  model: string,
  since: number,
): Promise<readonly ChargedPrice[]> {
  const versions = await queries.all<{ readonly hash: string; readonly created_at: number }>(
    'SELECT hash, created_at FROM prices WHERE model = ? ORDER BY created_at DESC, hash LIMIT ?',
    [model, versionsMax],
  )
  if (versions.length === 0) return []
  const [prices, uses] = await Promise.all([
    storedPricesOf(
      queries,
      versions.map(({ hash }) => hash),
    ),
    latestUses(queries, since),
  ])
  return versions.flatMap(({ hash, created_at: firstAt }) => {
    const price = prices.get(hash)
    const use = uses.get(hash)
    if (price === undefined || (use === undefined && firstAt < since)) return []
    return [{ price, firstAt, lastAt: use?.lastAt, lines: use?.lines ?? 0 }]
  })
}

async function latestUses(queries: StoreQueries, since: number): Promise<ReadonlyMap<string, Use>> {
  const rows = await queries.all<{ readonly at: number; readonly lines: string }>(
    'SELECT at, lines FROM charges WHERE revision = 0 ORDER BY id DESC LIMIT ?',
    [chargesMax],
  )
  const uses = new Map<string, Use>()
  for (const { at, lines } of rows) {
    if (at < since) continue
    for (const { priceVersion } of JSON.parse(lines) as readonly ChargeLine[]) {
      const use = uses.get(priceVersion) ?? { lastAt: at, lines: 0 }
      use.lastAt = Math.max(use.lastAt, at)
      use.lines += 1
      uses.set(priceVersion, use)
    }
  }
  return uses
}

/** `cost` is the sum of `amount_micros` and `overrun_micros`. */
interface ChargedRow extends Pick<
  RowOf<typeof ledgerColumns.charges>,
  'id' | 'exchange_id' | 'sequence' | 'account_id' | 'at' | 'lines' | 'raw_usage'
> {
  readonly cost: number
}

const chargedColumns =
  'id, exchange_id, sequence, account_id, at, lines, raw_usage, amount_micros + overrun_micros AS cost'

/** Undefined when the text is not JSON, which this program never writes. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function recompute(row: ChargedRow, prices: ReadonlyMap<string, Price>): RecomputedCharge {
  const lines = parsed(row.lines) as readonly ChargeLine[] | undefined
  const again =
    lines === undefined
      ? { costMicros: undefined, differences: ['the lines of a charge cannot be read'] }
      : recomputeCharge(lines, row.cost, prices)
  const isRawDamaged = row.raw_usage !== null && parsed(row.raw_usage) === undefined
  return {
    requestId: row.exchange_id,
    sequence: row.sequence,
    account: row.account_id,
    at: new Date(row.at).toISOString(),
    costMicros: row.cost,
    recomputedMicros: again.costMicros,
    hasRawUsage: row.raw_usage !== null,
    differences: isRawDamaged
      ? [...again.differences, "the provider's usage of a charge cannot be read"]
      : again.differences,
  }
}

/** Recomputes charges, oldest first, page by page, from their stored meters and price versions. */
export async function* recomputeCharges(
  queries: StoreQueries,
  since: number,
): AsyncGenerator<RecomputedCharge, void, void> {
  let { prices } = await storedPrices(queries)
  for await (const rows of chargesById<ChargedRow>(
    queries,
    chargedColumns,
    conditions([['at >= ?', since]]),
  )) {
    for (const row of rows) {
      let again = recompute(row, prices)
      if (again.recomputedMicros === undefined) {
        // The configuration may have changed since the prices were read.
        prices = (await storedPrices(queries)).prices
        again = recompute(row, prices)
      }
      yield again
    }
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Prices the usage of models again: the lines of charges since a time, page by page, by the model's price before and
 * after. Lines of models that lack one of the two prices are left out.
 */
export async function repriceCharges(
  queries: StoreQueries,
  since: number,
  { before, after }: { readonly before: PriceOf; readonly after: PriceOf },
): Promise<readonly ModelCost[]> {
  let { prices } = await storedPrices(queries)
  const costs = new Map<string, Mutable<ModelCost>>()
  for await (const rows of chargesById<Pick<ChargedRow, 'id' | 'lines'>>(
    queries,
    'id, lines',
    conditions([['at >= ?', since]]),
  )) {
    const lines = rows.flatMap(row => JSON.parse(row.lines) as readonly ChargeLine[])
    // A charge may name a price that was stored after the prices were read.
    if (lines.some(({ priceVersion }) => !prices.has(priceVersion)))
      ({ prices } = await storedPrices(queries))
    for (const line of lines) {
      const model = prices.get(line.priceVersion)?.model
      const [old, next] = model === undefined ? [] : [before(model), after(model)]
      if (model === undefined || old === undefined || next === undefined) continue
      const cost = costs.get(model) ?? { model, lines: 0, chargedMicros: 0, beforeMicros: 0, afterMicros: 0 }
      cost.lines += 1
      cost.chargedMicros += line.amountMicros
      cost.beforeMicros += priceLine(old, line).amountMicros
      cost.afterMicros += priceLine(next, line).amountMicros
      costs.set(model, cost)
    }
  }
  return [...costs.values()]
}
