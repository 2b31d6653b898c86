import { html } from 'hono/html'
import { z } from 'zod'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { closeAlarm, listAlarms, takeAlarm } from '../../alarms/alarms.ts'
import type { AlarmRow } from '../../stores/records/operator-tables.ts'
import { count } from '../../web/format.ts'
import { fieldSchemas, pathPart, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { buttonForm, form } from '../../web/view/form.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { alarmAdvice, alarmReason, alarmText, attempt } from '../view/shown-reason.ts'
import { showList, shownTime, timeColumn, type DeskList } from '../view/desk-list.ts'

const closeSchema = z.object({ reason: fieldSchemas.reason(textLengthsMax.reason) })

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

/** The meaning of an alarm and, while it is not closed, how to resolve it. */
function explained(page: DeskPage, { kind, state }: AlarmRow): Html {
  const { alarms } = page.texts
  const advice = state === 'closed' ? '' : alarmAdvice(page, kind)
  return html`<div class="words">
    <code>${kind}</code><br />${alarmText(page, kind)}
    ${advice === '' ? '' : html`<br /><span class="quiet">${alarms.advice}: ${advice}</span>`}
  </div>`
}

/** The state of an alarm: who took or closed it, when and why, and the possible actions. */
function handled(page: DeskPage, one: AlarmRow): Html {
  const { state, taken_by, taken_at, closed_by, closed_at } = one
  const isClosed = state === 'closed'
  const who = isClosed ? closed_by : taken_by
  const at = isClosed ? closed_at : taken_at
  return html`<div class="words">
    <span class="badge ${state === 'open' ? 'bad' : ''}">${page.texts.alarms.states[state]}</span>
    ${who === null || who === 'gateway' ? '' : html`<bdi>${who}</bdi>,`}
    ${at === null ? '' : shownTime(page, at)}
    ${isClosed ? html`<br /><bdi>${alarmReason(page, one)}</bdi>` : ''} ${actions(page, one)}
  </div>`
}

/** Alarms, those that nobody has taken first. */
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
      { name: alarms.alarm, cell: one => explained(page, one), csv: one => one.kind },
      { name: common.state, sort: 'state', cell: one => handled(page, one), csv: one => one.state },
      {
        name: alarms.subject,
        cell: one => html`<div class="name"><bdi>${one.subject}</bdi></div>`,
        csv: one => one.subject,
      },
      timeColumn(page, one => one.first_at, { name: alarms.first, sort: 'first' }),
      timeColumn(page, one => one.last_at, { name: alarms.last, sort: 'last' }),
      {
        name: alarms.times,
        sort: 'times',
        cell: one => count(one.count, language),
        csv: one => ({ number: String(one.count) }),
        isNumber: true,
      },
    ],
    read({ filters, sort, isDescending, limit, offset }) {
      const by = (['first', 'last', 'times'] as const).find(one => one === sort)
      const isAll = filters['state'] === 'all'
      return listAlarms(site.records, { isAll, sort: by, isDescending, limit, offset })
    },
  }
}

/** Changes an alarm; a refusal, for instance because another operator was faster, is shown above the list. */
async function change(page: DeskPage, act: (id: string) => Promise<unknown>): Promise<PageResponse> {
  const { refused } = await attempt(page, () => act(pathPart(page)))
  return refused === undefined
    ? seeOther(page, '/alarms?notice=done')
    : showList(page, alarmList(page), { refused })
}

/** Assigns an alarm to the operator; the other operators see that. */
export function submitTake(page: DeskPage): Promise<PageResponse> {
  const { site, operator } = page
  return change(page, id => takeAlarm(site.records, { id, operator, at: site.clock.now() }))
}

/** Closes an alarm with a reason. */
export async function submitCloseAlarm(page: DeskPage): Promise<PageResponse> {
  const { site, operator } = page
  const sent = await readForm(page, closeSchema)
  if (!sent.isValid) return showList(page, alarmList(page), { refused: sent.state.errors['reason'] })
  const { reason } = sent.value
  return change(page, id => closeAlarm(site.records, { id, reason, operator, at: site.clock.now() }))
}
