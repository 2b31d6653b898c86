import { priceHash } from '../../money/pricing.ts'
import type { Price } from '../../money/price.ts'
import type { ledgerColumns } from './ledger-columns.ts'
import type { RowOf } from './store-schema.ts'
import type { StoreQueries } from './store-queries.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { ChargedPrice } from '../../ledger/reports.ts'

/** `hash` is that of the body, the price's canonical text. */
type PriceRow = Pick<RowOf<typeof ledgerColumns.prices>, 'hash' | 'body'>

interface StoredPrices {
  readonly prices: ReadonlyMap<string, Price>
  /** Versions whose text is not what they say. */
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

/** Prices as they were when they were in force. */
export async function storedPrices(queries: StoreQueries): Promise<StoredPrices> {
  return read(await queries.all<PriceRow>('SELECT hash, body FROM prices'))
}

/** Those of them that are asked for; damaged ones are left out. */
export async function storedPricesOf(
  queries: Pick<StoreQueries, 'all'>,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Price>> {
  if (hashes.length === 0) return new Map()
  const places = hashes.map(() => '?').join(', ')
  const rows = await queries.all<PriceRow>(`SELECT hash, body FROM prices WHERE hash IN (${places})`, hashes)
  return read(rows).prices
}

/** Versions of a model that are looked at, the newest. */
const versionsMax = 40
/** Charges that are looked through for the prices that they name, the latest. */
const chargesMax = 2000

interface Use {
  lastAt: number
  lines: number
}

/**
 * The versions of a model's price that charges from a time on named: those whose first charge is of that time, and those that
 * the latest charges name.
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
