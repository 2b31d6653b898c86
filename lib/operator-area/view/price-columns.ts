import type { PriceRow } from '../../prices/list-price.ts'
import { decimal } from '../../web/format.ts'
import type { DeskPage } from '../page.ts'
import type { Column } from './data-table.ts'

/** What an amount of a price is for, and how much it is. */
export function priceColumns({ texts: { prices }, language }: DeskPage): readonly Column<PriceRow>[] {
  return [
    { name: prices.meter, cell: one => one.meter },
    { name: prices.price, cell: one => decimal(one.amount, language), isNumber: true },
    { name: '', cell: one => (one.unit === 'million' ? prices.perMillion : prices.perUnit) },
  ]
}
