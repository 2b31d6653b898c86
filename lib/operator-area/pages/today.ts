import { html } from 'hono/html'
import { listAlarms } from '../../alarms/alarms.ts'
import { zonedDayStart } from '../../platform/clock.ts'
import { readErrorCounts } from '../../stores/records/error-count-table.ts'
import { readSpenders, readToday } from '../../stores/records/desk-queries.ts'
import { mergeHealth, type MergedProvider } from '../../upstream/provider-health.ts'
import { kopecks, count, money, named } from '../../web/format.ts'
import { notice } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { shownTime, tableCard } from '../view/desk-list.ts'
import { facts } from '../../web/view/data-table.ts'
import { alarmText } from '../view/shown-reason.ts'

const alarmsShownMax = 10

/** Alarms that are not closed. */
async function alarmTable(page: DeskPage): Promise<Html> {
  const { alarms, common } = page.texts
  const { language, site } = page
  return tableCard(
    page,
    { title: alarms.title, empty: alarms.empty, all: '/alarms' },
    [
      { name: alarms.last, cell: one => shownTime(page, one.last_at) },
      {
        name: alarms.alarm,
        cell: one => html`<a href="/alarms"><code>${one.kind}</code></a> ${alarmText(page, one.kind)}`,
      },
      { name: alarms.subject, cell: one => html`<bdi>${one.subject}</bdi>` },
      { name: alarms.times, cell: one => count(one.count, language), isNumber: true },
      { name: common.state, cell: one => alarms.states[one.state] },
    ],
    await listAlarms(site.records, { limit: alarmsShownMax }),
  )
}

/** The parts of a provider that serve no clients: `openai#OPENAI_API_KEY: paused`, `direct: fails (1 of 2 processes)`. */
function problemsOf({ texts }: DeskPage, { credentials, routes }: MergedProvider): readonly string[] {
  const { providers } = texts
  const told = (name: string, state: string, affected: number, processes: number): string =>
    `${name}: ${state}${affected < processes ? ` (${providers.partly(affected, processes)})` : ''}`
  return [
    ...credentials.flatMap(({ name, isPaused, state, affected, processes }) => [
      ...(isPaused ? [`${name}: ${providers.paused}`] : []),
      ...(state === 'works' ? [] : [told(name, providers.states[state], affected, processes)]),
    ]),
    ...routes
      .filter(({ state }) => state !== 'works')
      .map(one => told(one.egress, providers.states[one.state], one.affected, one.processes)),
  ]
}

/** Providers with a part that is paused, refused or unreachable. */
async function providerTable(page: DeskPage): Promise<Html> {
  const { today, common } = page.texts
  const all = mergeHealth(await page.site.providers.health())
  const ill = all
    .filter(({ isOff }) => !isOff)
    .map(one => ({ name: one.name, problems: problemsOf(page, one) }))
    .filter(({ problems }) => problems.length > 0)
  return tableCard(
    page,
    { title: today.providers, empty: today.allWork },
    [
      { name: today.provider, cell: one => html`<a href="/providers">${one.name}</a>` },
      { name: common.state, cell: one => html`<span class="badge bad">${one.problems.join('; ')}</span>` },
    ],
    ill,
  )
}

function outcomeTable(page: DeskPage, outcomes: Awaited<ReturnType<typeof readSpenders>>) {
  const { texts, language } = page
  const { today, common } = texts
  return tableCard(
    page,
    { title: today.outcomes },
    [
      {
        name: today.outcome,
        cell: one =>
          html`<a href="/requests?outcome=${one.name}">${named(texts.requests.outcomes, one.name)}</a>`,
      },
      { name: today.requests, cell: one => count(one.charges, language), isNumber: true },
      { name: common.amount, cell: one => money(one.micros, language), isNumber: true },
    ],
    outcomes,
  )
}

function errorTable(page: DeskPage, errors: Awaited<ReturnType<typeof readErrorCounts>>) {
  const { today } = page.texts
  return tableCard(
    page,
    { title: today.errors, empty: today.noErrors, below: html`<p class="quiet">${today.errorsHint}</p>` },
    [
      { name: today.code, cell: one => html`<code>${one.code}</code>` },
      { name: today.requests, cell: one => count(one.count, page.language), isNumber: true },
    ],
    errors,
  )
}

/** Money in and out, requests, errors, alarms, providers, and pending decisions. */
export async function showToday(page: DeskPage): Promise<PageResponse> {
  const { site, language } = page
  const { today: texts } = page.texts
  const from = zonedDayStart(site.clock.now(), site.config.timeZone)
  const [today, outcomes, errors, alarms, providers] = await Promise.all([
    readToday(site.records, from),
    readSpenders(site.records, 'outcome', from),
    readErrorCounts(site.records, from),
    alarmTable(page),
    providerTable(page),
  ])
  const charged = outcomes.reduce((sum, one) => sum + one.micros, 0)
  const requests = outcomes.reduce((sum, one) => sum + one.charges, 0)
  const waiting = (path: string, number: number) =>
    number === 0 ? '0' : html`<a href="${path}">${count(number, language)}</a>`
  return titledPage(
    page,
    { title: texts.title },
    html`${notice(page)}
      <section class="card">
        ${facts([
          [texts.paidIn, money(today.paidMicros, language)],
          [texts.transferred, kopecks(today.transferredKopecks, language)],
          [texts.refunded, money(today.refundedMicros, language)],
          [texts.charged, money(charged, language)],
          [texts.requests, count(requests, language)],
          [texts.balances, money(today.balancesMicros, language)],
          [texts.debts, money(today.debtsMicros, language)],
          [texts.indebted, count(today.indebted, language)],
          [texts.blocked, count(today.blocked, language)],
        ])}
      </section>
      <section class="card">
        <h2>${texts.queue}</h2>
        ${facts([
          [texts.queued, waiting('/transfers', today.queued)],
          [texts.differing, waiting('/payments?state=differing', today.differing)],
          [texts.pending, waiting('/payments?state=pending', today.pending)],
          [texts.heldRates, waiting('/prices', today.heldRates)],
        ])}
      </section>
      ${alarms} ${providers} ${outcomeTable(page, outcomes)} ${errorTable(page, errors)}`,
  )
}
