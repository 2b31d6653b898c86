import { html } from 'hono/html'
import { findActions } from '../../administration/operator-log.ts'
import type { OperatorActionRow } from '../../stores/records/ledger-tables.ts'
import { isoTime, time } from '../../web/format.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'
import { dayFilters, listSection, momentsOf } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

function accountLink({ account_id: id }: OperatorActionRow): Html | string {
  return id === '' ? '' : html`<a href="/customers/${id}"><code>${id}</code></a>`
}

/** What operators did, as a table. */
export function actionTable(page: DeskPage, actions: readonly OperatorActionRow[]): Html {
  const { log, common } = page.texts
  return dataTable(
    { label: log.title, empty: common.none },
    [
      { name: common.at, cell: one => time(one.at, page.language, page.site.config.timeZone) },
      { name: log.who, cell: one => one.operator },
      { name: log.what, cell: one => log.actions[one.action] },
      {
        name: common.account,
        cell: accountLink,
      },
      { name: common.reason, cell: one => one.reason },
    ],
    actions,
  )
}

/** What operators did, the latest first. */
export function actionList(page: DeskPage): DeskList<OperatorActionRow> {
  const { log, common } = page.texts
  const { site, language } = page
  return {
    path: '/log',
    label: log.title,
    empty: common.none,
    filters: [
      { name: 'operator', label: log.who },
      { name: 'action', label: log.what, options: { '': common.all, ...log.actions } },
      { name: 'account', label: common.account },
      ...dayFilters(page),
    ],
    columns: [
      {
        name: common.at,
        sort: 'at',
        cell: one => time(one.at, language, page.site.config.timeZone),
        csv: one => isoTime(one.at, page.site.config.timeZone),
      },
      { name: log.who, cell: one => one.operator, csv: one => one.operator },
      { name: log.what, cell: one => log.actions[one.action], csv: one => log.actions[one.action] },
      { name: common.account, cell: accountLink, csv: one => one.account_id },
      { name: common.reason, cell: one => one.reason, csv: one => one.reason },
    ],
    read: query => findActions(site.records, { ...query, ...momentsOf(page, query.filters) }),
  }
}

/** What operators did. */
export async function showLog(context: PageContext, page: DeskPage): Promise<Response> {
  const { log } = page.texts
  const { view, status } = await listSection(context, page, actionList(page))
  return context.html(
    layout(
      page,
      { title: log.title },
      html`<h1>${log.title}</h1>
        ${view}`,
    ),
    status,
  )
}
