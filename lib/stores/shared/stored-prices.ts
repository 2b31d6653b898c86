import { priceHash } from '../../money/build-price.ts'
import type { Price } from '../../money/price.ts'
import type { StoreQueries } from './store-queries.ts'

interface PriceRow {
  readonly hash: string
  /** The price's canonical text, of which `hash` is the hash. */
  readonly body: string
}

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
