import { html } from 'hono/html'
import { alignDecimals, day as dayText, smallMoney, spentMoney } from '../../../web/format.ts'
import { dataTable, type Column } from '../../../web/view/data-table.ts'
import type { Html, OwnPage } from '../../page.ts'
import type { Language } from '../../../web/texts/language.ts'
import type { ModelSpending } from '../../../ledger/reports.ts'

/** The daily spending on a model, or on all others. */
interface Series {
  /** Undefined for all models without a series of their own. */
  readonly model: string | undefined
  readonly totalMicros: number
  /** One amount for each day, the oldest first. */
  readonly microsByDay: readonly number[]
}

/** The spending of the last days, today included. */
export interface Spending {
  /** Days since the epoch, in Moscow. */
  readonly days: readonly number[]
  /** The largest first; the others come last. */
  readonly series: readonly Series[]
  readonly microsByDay: readonly number[]
  readonly chargesByDay: readonly number[]
}

/** More colors than this are hard to tell apart. */
const seriesMax = 5

/** Orders sums for a chart: the most expensive models, and the rest together. */
export function spendingByDay(rows: readonly ModelSpending[], today: number, dayCount: number): Spending {
  const first = today - dayCount + 1
  const days = Array.from({ length: dayCount }, (_, index) => first + index)
  const none = (): number[] => days.map(() => 0)
  const microsByDay = none()
  const chargesByDay = none()
  const byModel = new Map<string, number[]>()
  for (const { day, model, charges, spentMicros } of rows) {
    const index = day - first
    // After a clock was set back, charges may be dated tomorrow.
    if (index < 0 || index >= dayCount) continue
    add(microsByDay, index, spentMicros)
    add(chargesByDay, index, charges)
    let own = byModel.get(model)
    if (own === undefined) byModel.set(model, (own = none()))
    add(own, index, spentMicros)
  }
  const series = [...byModel]
    .map(([model, micros]) => ({ model, totalMicros: sum(micros), microsByDay: micros }))
    .filter(({ totalMicros }) => totalMicros > 0)
    .toSorted((one, other) => other.totalMicros - one.totalMicros)
  return {
    days,
    series: [...series.slice(0, seriesMax), ...others(series, none())],
    microsByDay,
    chargesByDay,
  }
}

function others(series: readonly Series[], microsByDay: number[]): readonly Series[] {
  const rest = series.slice(seriesMax)
  if (rest.length === 0) return []
  for (const one of rest)
    for (const [index, micros] of one.microsByDay.entries()) add(microsByDay, index, micros)
  return [{ model: undefined, totalMicros: sum(microsByDay), microsByDay }]
}

function add(amounts: number[], index: number, amount: number): void {
  amounts[index] = (amounts[index] ?? 0) + amount
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

/** Amounts beside the grid lines, without kopecks where they are zero. */
const scaleMoney = (micros: number, language: Language): string =>
  smallMoney(micros, language).replace(/[.,]00(?=\D*$)/, '')

/** Most models are not used every day. */
const spentOrDash = (micros: number, language: Language): string =>
  micros === 0 ? '\u2013' : spentMoney(micros, language)

const percent = (value: number): string => `${Math.round(value * 1000) / 1000}%`

/** A round amount at or above the largest, whose half is round too. */
function scaleTop(largestMicros: number): number {
  const power = 10 ** Math.floor(Math.log10(largestMicros))
  const step = [1, 2, 4, 5, 10].find(one => one * power >= largestMicros) ?? 10
  return step * power
}

function seriesName({ texts }: OwnPage, { model }: Series): string {
  return model ?? texts.overview.others
}

function seriesClass({ model }: Series, index: number): string {
  return model === undefined ? 'series-others' : `series-${index + 1}`
}

function bar(page: OwnPage, spending: Spending, index: number, topMicros: number): Html {
  const slot = 100 / spending.days.length
  const day = dayText(spending.days[index] ?? 0, page.language)
  const parts = spending.series.flatMap((series, place) => {
    const micros = series.microsByDay[index] ?? 0
    return micros === 0 ? [] : [{ series, micros, className: seriesClass(series, place) }]
  })
  let bottom = 100
  const label = [
    `${day}: ${spentMoney(spending.microsByDay[index] ?? 0, page.language)}`,
    ...parts.map(({ series, micros }) => `${seriesName(page, series)}: ${spentMoney(micros, page.language)}`),
  ].join('\n')
  return html`<g>
    <title>${label}</title>
    <rect class="chart-slot" x="${percent(index * slot)}" y="0" width="${percent(slot)}" height="100%" />
    ${parts.map(({ micros, className }) => {
      const height = (micros / topMicros) * 100
      bottom -= height
      return html`<rect
        class="${className}"
        x="${percent((index + 0.15) * slot)}"
        y="${percent(bottom)}"
        width="${percent(0.7 * slot)}"
        height="${percent(height)}"
      />`
    })}
  </g>`
}

function legend(page: OwnPage, { series }: Spending): Html {
  return html`<ul class="legend">
    ${series.map(
      (one, index) =>
        html`<li>
          <svg class="swatch" aria-hidden="true">
            <rect class="${seriesClass(one, index)}" width="100%" height="100%" rx="3" />
          </svg>
          <span>${seriesName(page, one)}</span>
          <span class="quiet">${spentMoney(one.totalMicros, page.language)}</span>
        </li>`,
    )}
  </ul>`
}

function asTable(page: OwnPage, spending: Spending): Html {
  const { overview } = page.texts
  const spent = spending.days
    .map((day, index) => ({ day, index }))
    .toReversed()
    .filter(({ index }) => (spending.chargesByDay[index] ?? 0) > 0)
    .map(({ day, index }, row) => ({ day, index, row }))
  const column = (name: string, microsByDay: readonly number[]): Column<(typeof spent)[number]> => {
    const amounts = alignDecimals(
      spent.map(({ index }) => spentOrDash(microsByDay[index] ?? 0, page.language)),
    )
    return { name, cell: ({ row }) => amounts[row] ?? '', isNumber: true }
  }
  const columns = [
    {
      name: overview.day,
      cell: ({ day }: (typeof spent)[number]) => dayText(day, page.language),
      isHead: true,
    },
    ...spending.series.map(series => column(seriesName(page, series), series.microsByDay)),
    column(overview.total, spending.microsByDay),
  ]
  return html`<details class="disclosure">
    <summary>${overview.asTable}</summary>
    ${dataTable({ label: overview.chart, empty: '' }, columns, spent)}
  </details>`
}

/** The spending by day and model, as a chart and as a table. */
export function spendingChart(page: OwnPage, spending: Spending): Html {
  const { overview } = page.texts
  const dayCount = spending.days.length
  if (spending.series.length === 0) return html`<p class="quiet">${overview.noSpending(dayCount)}</p>`
  // Below ten, half of it would not be an integer.
  const topMicros = scaleTop(Math.max(10, ...spending.microsByDay))
  const total = spentMoney(sum(spending.microsByDay), page.language)
  const marks = [0, Math.floor(dayCount / 2), dayCount - 1].map(index =>
    dayText(spending.days[index] ?? 0, page.language),
  )
  return html`<div class="chart">
      <div class="chart-amounts" aria-hidden="true">
        ${[1, 0.5, 0].map(share => html`<span>${scaleMoney(share * topMicros, page.language)}</span>`)}
      </div>
      <svg role="img" aria-labelledby="chart-title chart-hint">
        <title id="chart-title">${overview.chart}</title>
        <desc id="chart-hint">${overview.chartHint(total, dayCount)}</desc>
        ${['0', '50%', '100%'].map(y => html`<line x1="0" x2="100%" y1="${y}" y2="${y}" />`)}
        ${spending.days.map((_, index) => bar(page, spending, index, topMicros))}
      </svg>
      <div class="chart-days" aria-hidden="true">${marks.map(mark => html`<span>${mark}</span>`)}</div>
    </div>
    ${legend(page, spending)}${asTable(page, spending)}
    <p class="quiet small">${overview.moscow}</p>`
}
