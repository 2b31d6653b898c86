import { type ChargeLine, recomputeCharge } from '../../ledger/price-charge.ts'
import type { RecomputedCharge, ModelCost, PriceOf } from '../../ledger/reports.ts'
import type { Price } from '../../money/price.ts'
import { chargesById, conditions } from './report-rows.ts'
import type { ledgerColumns } from './ledger-columns.ts'
import type { RowOf } from './store-schema.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPrices } from './stored-prices.ts'
import { priceLine } from '../../money/price-line.ts'

/** `amount_micros` and `overrun_micros` are read as their sum. */
interface Row extends Pick<
  RowOf<typeof ledgerColumns.charges>,
  'id' | 'exchange_id' | 'sequence' | 'account_id' | 'at' | 'lines' | 'raw_usage'
> {
  readonly cost: number
}

const columns =
  'id, exchange_id, sequence, account_id, at, lines, raw_usage, amount_micros + overrun_micros AS cost'

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

/** Works charges out again, oldest first, page by page, from their stored meters and price versions. */
export async function* recomputeCharges(
  queries: StoreQueries,
  since: number,
): AsyncGenerator<RecomputedCharge, void, void> {
  let { prices } = await storedPrices(queries)
  for await (const rows of chargesById<Row>(queries, columns, conditions([['at >= ?', since]]))) {
    for (const row of rows) {
      let again = recompute(row, prices)
      if (again.recomputedMicros === undefined) {
        // The configuration may have changed while this was reading.
        prices = (await storedPrices(queries)).prices
        again = recompute(row, prices)
      }
      yield again
    }
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
  for await (const rows of chargesById<Pick<Row, 'id' | 'lines'>>(
    queries,
    'id, lines',
    conditions([['at >= ?', since]]),
  )) {
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
  }
  return [...costs.values()]
}
