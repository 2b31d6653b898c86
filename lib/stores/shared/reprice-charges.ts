import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { ModelCost, PriceOf } from '../../ledger/reports.ts'
import { priceLine } from '../../money/price-line.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPrices } from './stored-prices.ts'

const pageRows = 500

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
