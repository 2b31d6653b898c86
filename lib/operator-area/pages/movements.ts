import { html } from 'hono/html'
import { formatRoubles } from '../../money/amount.ts'
import type { Movement } from '../../payments/movements.ts'
import { isoTime, smallMoney, time } from '../../web/format.ts'
import { named } from '../view/named.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { listSection } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

/** What a movement of an account's money shows. */
export function movementColumns(page: DeskPage): DeskList<Movement>['columns'] {
  const { language, texts } = page
  const { customer, common } = texts
  const exactly = (micros: number) => ({ number: formatRoubles(micros) })
  return [
    {
      name: common.at,
      cell: one => time(one.at, language, page.site.config.timeZone),
      csv: one => isoTime(one.at, page.site.config.timeZone),
    },
    { name: customer.kind, cell: one => named(customer.kinds, one.kind), csv: one => one.kind },
    { name: common.reason, cell: one => one.reason ?? '', csv: one => one.reason ?? '' },
    {
      name: common.amount,
      cell: one => smallMoney(one.amountMicros, language),
      csv: one => exactly(one.amountMicros),
      isNumber: true,
    },
    {
      name: customer.after,
      cell: one => smallMoney(one.balanceMicros, language),
      csv: one => exactly(one.balanceMicros),
      isNumber: true,
    },
  ]
}

/** All that moved an account's money and was no charge, the latest first. */
export function movementList(page: DeskPage): DeskList<Movement> {
  const { customer, common } = page.texts
  return {
    path: '/movements',
    label: customer.movements,
    empty: common.none,
    filters: [{ name: 'account', label: common.account }],
    columns: movementColumns(page),
    read: ({ filters: { account = '' }, limit, offset }) =>
      page.site.movements.page(account, { limit, offset }),
  }
}

/** An account's money, page by page. */
export async function showMovements(context: PageContext, page: DeskPage): Promise<Response> {
  const { customer } = page.texts
  const { view, status } = await listSection(context, page, movementList(page))
  const content = html`<h1>${customer.movements}</h1>
    ${view}`
  return context.html(layout(page, { title: customer.movements }, content), status)
}
