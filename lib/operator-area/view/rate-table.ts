import type { RateRow } from '../../stores/records/operator-tables.ts'
import { decimal } from '../../web/format.ts'
import { buttonForm } from '../../web/view/form.ts'
import type { Html } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from './data-table.ts'

/** The Central Bank's rates by day; one that is held can be accepted. */
export function rateTable(page: DeskPage, rates: readonly RateRow[]): Html {
  const { prices, common } = page.texts
  return dataTable(
    { label: prices.rates, empty: common.none },
    [
      { name: prices.day, cell: one => one.day },
      { name: prices.rate, cell: one => decimal(one.usd_rub, page.language), isNumber: true },
      { name: common.state, cell: one => prices[one.state] },
      {
        name: '',
        cell: one =>
          one.state === 'held' && may(page.role, 'manage')
            ? buttonForm(page, {
                action: '/prices/accept',
                fields: { day: one.day },
                label: prices.accept,
                className: 'plain',
              })
            : '',
      },
    ],
    rates,
  )
}
