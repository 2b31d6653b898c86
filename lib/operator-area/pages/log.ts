import { html } from 'hono/html'
import { readActions } from '../../administration/operator-log.ts'
import { isId } from '../../platform/new-id.ts'
import type { OperatorActionRow } from '../../stores/records/ledger-tables.ts'
import { time } from '../../web/format.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'

const shownMax = 100

/** What operators did, as a table. */
export function actionTable(page: DeskPage, actions: readonly OperatorActionRow[]): Html {
  const { log, common } = page.texts
  return dataTable(
    { label: log.title, empty: common.none },
    [
      { name: common.at, cell: one => time(one.at, page.language) },
      { name: log.who, cell: one => one.operator },
      { name: log.what, cell: one => log.actions[one.action] },
      {
        name: common.account,
        cell: one =>
          one.account_id === ''
            ? ''
            : html`<a href="/customers/${one.account_id}"><code>${one.account_id}</code></a>`,
      },
      { name: common.reason, cell: one => one.reason },
    ],
    actions,
  )
}

/** What operators did, the newest first. */
export async function showLog(context: PageContext, page: DeskPage): Promise<Response> {
  const { log, common } = page.texts
  const before = context.req.query('before') ?? ''
  const actions = await readActions(page.site.records, {
    ...(isId(before) && { before }),
    limit: shownMax,
  })
  const last = actions[shownMax - 1]
  return context.html(
    layout(
      page,
      { title: log.title },
      html`<h1>${log.title}</h1>
        <section class="card">
          ${actionTable(page, actions)}
          ${last === undefined ? '' : html`<p><a href="/log?before=${last.id}">${common.older}</a></p>`}
        </section>`,
    ),
  )
}
