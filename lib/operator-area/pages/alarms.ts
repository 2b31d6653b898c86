import { html } from 'hono/html'
import { z } from 'zod'
import { AccountError } from '../../accounts/accounts.ts'
import { closeAlarm, listAlarms, takeAlarm } from '../../alarms/alarms.ts'
import type { AlarmRow } from '../../stores/records/operator-tables.ts'
import { count, isoTime, time } from '../../web/format.ts'
import { fieldSchemas, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { buttonForm, form, notice } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { DeskPage, ShowDeskPage } from '../page.ts'
import { alarmText, refusalText } from '../view/said-by-code.ts'
import { listSection } from '../view/desk-list.ts'
import type { DeskList } from '../view/desk-list.ts'

const closeSchema = z.object({
  reason: fieldSchemas.reason(1000),
})

function actions(page: DeskPage, { id, state }: AlarmRow): Html {
  const { alarms, common } = page.texts
  if (state === 'closed') return html``
  const take = { action: `/alarms/${id}/take`, label: alarms.take, className: 'plain' } as const
  return html`<div class="row">
    ${state === 'open' ? buttonForm(page, take) : ''}
    ${form(
      page,
      `/alarms/${id}/close`,
      html`<input name="reason" aria-label="${common.ownReason}" placeholder="${common.ownReason}" required />
        <button class="plain">${alarms.close}</button>`,
      { className: 'row' },
    )}
  </div>`
}

/** Alarms, those first that nobody has taken. */
export function alarmList(page: DeskPage): DeskList<AlarmRow> {
  const { alarms, common } = page.texts
  const { language, site } = page
  return {
    path: '/alarms',
    label: alarms.title,
    empty: alarms.empty,
    filters: [{ name: 'state', label: common.state, options: { '': alarms.current, all: alarms.all } }],
    firstSort: 'state',
    columns: [
      {
        name: alarms.last,
        sort: 'last',
        cell: one => time(one.last_at, language, page.site.config.timeZone),
        csv: one => isoTime(one.last_at, page.site.config.timeZone),
      },
      {
        name: alarms.first,
        sort: 'first',
        cell: one => time(one.first_at, language, page.site.config.timeZone),
        csv: one => isoTime(one.first_at, page.site.config.timeZone),
      },
      {
        name: alarms.alarm,
        cell: one =>
          html`<code>${one.kind}</code><br /><span class="quiet">${alarmText(page, one.kind)}</span>`,
        csv: one => one.kind,
      },
      { name: alarms.subject, cell: one => html`<bdi>${one.subject}</bdi>`, csv: one => one.subject },
      {
        name: alarms.times,
        sort: 'times',
        cell: one => count(one.count, language),
        csv: one => ({ number: String(one.count) }),
        isNumber: true,
      },
      {
        name: common.state,
        sort: 'state',
        cell: one =>
          html`<span class="badge ${one.state === 'open' ? 'bad' : ''}">${alarms.states[one.state]}</span>
            ${one.closed_by ?? one.taken_by ?? ''} ${one.state === 'closed' ? (one.reason ?? '') : ''}`,
        csv: one => one.state,
      },
      { name: '', cell: one => actions(page, one) },
    ],
    read({ filters, sort, isDescending, limit, offset }) {
      const by = (['first', 'last', 'times'] as const).find(one => one === sort)
      const isAll = filters['state'] === 'all'
      return listAlarms(site.records, { isAll, sort: by, isDescending, limit, offset })
    },
  }
}

async function answer(context: PageContext, page: DeskPage, problem?: string): Promise<Response> {
  const { alarms } = page.texts
  const { view, status } = await listSection(context, page, alarmList(page))
  const content = html`<h1>${alarms.title}</h1>
    ${notice(page)} ${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
    ${view}`
  return context.html(layout(page, { title: alarms.title }, content), problem === undefined ? status : 422)
}

/** What has to be looked at. */
export function showAlarms(context: PageContext, page: DeskPage): Promise<Response> {
  return answer(context, page)
}

/** Does something about an alarm; what was wrong is said above the list. */
function change(act: (page: DeskPage, id: string) => Promise<unknown>): ShowDeskPage {
  return async (context, page) => {
    try {
      await act(page, context.req.param('id') ?? '')
    } catch (error) {
      // Somebody else was sooner.
      if (!(error instanceof AccountError)) throw error
      return answer(context, page, refusalText(page, error))
    }
    return seeOther(context, '/alarms?notice=done')
  }
}

/** The others see who looks at it. */
export const submitTake = change((page, id) =>
  takeAlarm(page.site.records, { id, operator: page.session.user.email, at: page.site.clock.now() }),
)

/** What was done about it. */
export async function submitCloseAlarm(context: PageContext, page: DeskPage): Promise<Response> {
  const sent = await readForm(context, page, closeSchema)
  if (!sent.isValid) return answer(context, page, sent.state.errors['reason'])
  const { site, session } = page
  const { reason } = sent.value
  const close = change((_, id) =>
    closeAlarm(site.records, { id, reason, operator: session.user.email, at: site.clock.now() }),
  )
  return close(context, page)
}
