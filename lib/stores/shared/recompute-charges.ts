import { type ChargeLine, recomputeCharge } from '../../ledger/price-charge.ts'
import type { RecomputedCharge, ModelCost, PriceOf } from '../../ledger/reports.ts'
import type { Price } from '../../money/price.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPrices } from './stored-prices.ts'
import { priceLine } from '../../money/price-line.ts'

const pageRows = 500

interface Row {
  readonly id: number
  readonly exchange_id: string
  readonly sequence: number
  readonly account_id: string
  readonly at: number
  readonly lines: string
  readonly raw: string | null
  readonly cost: number
}

/** Undefined when the text is no JSON, which nothing here ever writes. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function recompute(row: Row, prices: ReadonlyMap<string, Price>): RecomputedCharge {
  const lines = parsed(row.lines) as readonly ChargeLine[] | undefined
  const again =
    lines === undefined
      ? { costMicros: undefined, differences: ['the lines of a charge cannot be read'] }
      : recomputeCharge(lines, row.cost, prices)
  const isRawDamaged = row.raw !== null && parsed(row.raw) === undefined
  return {
    requestId: row.exchange_id,
    sequence: row.sequence,
    account: row.account_id,
    at: new Date(row.at).toISOString(),
    costMicros: row.cost,
    recomputedMicros: again.costMicros,
    hasRawUsage: row.raw !== null,
    differences: isRawDamaged
      ? [...again.differences, "the provider's usage of a charge cannot be read"]
      : again.differences,
  }
}

/** Works charges out again, oldest first, page by page, from their stored meters and price versions. */
export async function* recomputeCharges(
  queries: StoreQueries,
  since: number,
): AsyncGenerator<RecomputedCharge, void, void> {
  let { prices } = await storedPrices(queries)
  for (let afterId = 0; ;) {
    const rows: readonly Row[] = await queries.all(
      `SELECT id, exchange_id, sequence, account_id, at, lines, raw_usage AS raw, amount_micros + overrun_micros AS cost
       FROM charges WHERE revision = 0 AND at >= ? AND id > ? ORDER BY id LIMIT ?`,
      [since, afterId, pageRows],
    )
    for (const row of rows) {
      let again = recompute(row, prices)
      if (again.recomputedMicros === undefined) {
        // The configuration may have changed while this was reading.
        prices = (await storedPrices(queries)).prices
        again = recompute(row, prices)
      }
      yield again
    }
    const last = rows[pageRows - 1]
    if (last === undefined) return
    afterId = last.id
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * What models were used for, at other prices: the lines of charges from a time on, page by page, priced by what the
 * model's entry says before and after. Lines of models of which neither says anything are left out.
 */
export async function repriceCharges(
  queries: StoreQueries,
  since: number,
  { before, after }: { readonly before: PriceOf; readonly after: PriceOf },
): Promise<readonly ModelCost[]> {
  let { prices } = await storedPrices(queries)
  const costs = new Map<string, Mutable<ModelCost>>()
  for (let afterId = 0; ;) {
    const rows = await queries.all<{ readonly id: number; readonly lines: string }>(
      'SELECT id, lines FROM charges WHERE revision = 0 AND at >= ? AND id > ? ORDER BY id LIMIT ?',
      [since, afterId, pageRows],
    )
    const lines = rows.flatMap(row => JSON.parse(row.lines) as readonly ChargeLine[])
    // A price may be newer than this reading.
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
    const last = rows[pageRows - 1]
    if (last === undefined) return [...costs.values()]
    afterId = last.id
  }
}
