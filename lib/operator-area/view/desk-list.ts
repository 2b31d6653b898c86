import { html } from 'hono/html'
import { csvHeaders, csvTable, type CsvNumber } from '../../documents/csv-table.ts'
import { zonedDayEnd, zonedParse } from '../../platform/clock.ts'
import { formatRoubles } from '../../money/amount.ts'
import { isDay, isoDay, isoTime, money, time } from '../../web/format.ts'
import { choice, field, notice, refusal, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable, type Column } from '../../web/view/data-table.ts'

/** The parameters of a list; all of them are bounded. */
interface ListQuery {
  /** One of the list's sort orders. */
  readonly sort: string
  readonly isDescending: boolean
  readonly offset: number
  readonly limit: number
  /** By the name of the filter; empty for no filter. */
  readonly filters: Readonly<Record<string, string>>
}

interface ListColumn<Row> {
  readonly name: string
  readonly cell: (row: Row) => Html | string
  readonly isNumber?: boolean
  /** The name of its sort order, if it can be sorted by. */
  readonly sort?: string
  /** Its cell in the CSV table; absent: not in that table. */
  readonly csv?: (row: Row) => string | CsvNumber
}

interface ListFilter {
  readonly name: string
  readonly label: string
  /** The choices, by value; absent: a text field. */
  readonly options?: Readonly<Record<string, string>>
  /** A date field: `2026-11-20`. */
  readonly isDay?: boolean
}

/** Rows that operators can sort, filter, page through and download as CSV. */
export interface DeskList<Row> {
  readonly path: string
  /** Also the title of its page. */
  readonly label: string
  readonly empty: string
  /** Shown above the list. */
  readonly hint?: string
  /** The default sort order; by default the first. */
  readonly firstSort?: string
  readonly columns: readonly ListColumn<Row>[]
  readonly filters: readonly ListFilter[]
  read(query: ListQuery): Promise<readonly Row[]>
}

/** A column with the same text on the page and in the CSV table. */
export function textColumn<Row>(name: string, cell: (row: Row) => string, sort?: string): ListColumn<Row> {
  return { name, cell, csv: cell, ...(sort !== undefined && { sort }) }
}

/** A column of free text, wide enough for whole words on a phone too. */
export function wordsColumn<Row>(name: string, cell: (row: Row) => string): ListColumn<Row> {
  return { name, cell: row => html`<div class="words"><bdi>${cell(row)}</bdi></div>`, csv: cell }
}

/** A time in the configured zone. */
export function shownTime({ language, site }: DeskPage, ms: number): string {
  return time(ms, language, site.config.timeZone)
}

/** A column of times, in milliseconds since the epoch. */
export function timeColumn<Row>(
  page: DeskPage,
  at: (row: Row) => number,
  { name = page.texts.common.at, sort }: { readonly name?: string; readonly sort?: string } = {},
): ListColumn<Row> {
  return {
    name,
    ...(sort !== undefined && { sort }),
    cell: row => shownTime(page, at(row)),
    csv: row => isoTime(at(row), page.site.config.timeZone),
  }
}

/** A column of accounts, each linked to its page; empty for no account. */
export function accountColumn<Row>({ texts }: DeskPage, id: (row: Row) => string): ListColumn<Row> {
  return {
    name: texts.common.account,
    cell: row => (id(row) === '' ? '' : html`<a href="/customers/${id(row)}"><code>${id(row)}</code></a>`),
    csv: id,
  }
}

/** A column of amounts in micro-roubles, to the kopeck by default. */
export function amountColumn<Row>(
  { language }: DeskPage,
  name: string,
  micros: (row: Row) => number,
  { sort, shown = money }: { readonly sort?: string; readonly shown?: typeof money } = {},
): ListColumn<Row> {
  return {
    name,
    ...(sort !== undefined && { sort }),
    cell: row => shown(micros(row), language),
    csv: row => ({ number: formatRoubles(micros(row)) }),
    isNumber: true,
  }
}

/** The filters for the first and the last day of a list. */
export function dayFilters({ texts: { common } }: DeskPage): readonly ListFilter[] {
  return [
    { name: 'from', label: common.firstDay, isDay: true },
    { name: 'to', label: common.lastDay, isDay: true },
  ]
}

/**
 * The times that the day filters select, in milliseconds since the epoch: from one, inclusive, to another, exclusive.
 */
interface Moments {
  readonly from?: number
  readonly until?: number
}

/** Converts the day filters of a list to times. */
export function momentsOf({ site }: DeskPage, { from = '', to = '' }: ListQuery['filters']): Moments {
  const { timeZone } = site.config
  return {
    ...(from !== '' && { from: zonedParse(from, timeZone) }),
    ...(to !== '' && { until: zonedDayEnd(to, timeZone) }),
  }
}

/** Rows within a page about something else. */
interface TableCard {
  readonly title: string
  /** Shown without rows; a general text by default. */
  readonly empty?: string
  readonly above?: Html
  readonly below?: Html
  /** The path of the full list, when this is only the latest part. */
  readonly all?: string
}

/** A part of a page: a table with its heading. */
export function tableCard<Row>(
  { texts: { common } }: DeskPage,
  { title, empty = common.none, above, below, all }: TableCard,
  columns: readonly Column<NoInfer<Row>>[],
  rows: readonly Row[],
): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    ${above ?? ''} ${dataTable({ label: title, empty }, columns, rows)} ${below ?? ''}
    ${all === undefined ? '' : html`<p class="row"><a href="${all}">${common.all}</a></p>`}
  </section>`
}

const pageRows = 50
/** Longer lists must be narrowed by filters: this limits the cost of a query. */
const rowsMax = 10_000
const filterLengthMax = 200

interface Asked extends ListQuery {
  readonly page: number
  /** The error of a filter; nothing is listed then. */
  readonly refused: string | undefined
}

/** Why a filter is invalid: an unknown choice or day, or a text that the store cannot contain. */
function filterProblem(
  { texts: { common } }: DeskPage,
  { label, options, isDay: mustBeDay = false }: ListFilter,
  value: string,
): string | undefined {
  if (value.length > filterLengthMax || value.includes('\0')) return common.filterRefused
  const isKnown = (options === undefined || Object.hasOwn(options, value)) && (!mustBeDay || isDay(value))
  return isKnown || value === '' ? undefined : common.filterUnknown(label)
}

function ask<Row>(page: DeskPage, { columns, filters, firstSort }: DeskList<Row>): Asked {
  const sorts = columns.flatMap(({ sort }) => (sort === undefined ? [] : [sort]))
  const wanted = page.context.req.query('sort') ?? ''
  const typedPage = Number(page.context.req.query('page') ?? '1')
  const number = Number.isInteger(typedPage) ? Math.min(Math.max(typedPage, 1), rowsMax / pageRows) : 1
  const typed = filters.map(filter => {
    const value = (page.context.req.query(filter.name) ?? '').trim()
    return { name: filter.name, value, problem: filterProblem(page, filter, value) }
  })
  return {
    sort: sorts.includes(wanted) ? wanted : (firstSort ?? sorts[0] ?? ''),
    isDescending: page.context.req.query('order') !== 'asc',
    page: number,
    offset: (number - 1) * pageRows,
    // One more row shows whether there is a next page.
    limit: pageRows + 1,
    filters: Object.fromEntries(typed.map(({ name, value }) => [name, value.slice(0, filterLengthMax)])),
    refused: typed.find(({ problem }) => problem !== undefined)?.problem,
  }
}

/** The list's URL with changed parameters. */
function addressOf(
  path: string,
  { sort, isDescending, filters }: ListQuery,
  changes: Readonly<Record<string, string>> = {},
): string {
  const words = { ...filters, sort, order: isDescending ? 'desc' : 'asc', ...changes }
  const set = Object.entries(words).filter(([, value]) => value !== '')
  return `${path}?${new URLSearchParams(set).toString()}`
}

function filterForm<Row>(page: DeskPage, { path, filters }: DeskList<Row>, asked: Asked): Html {
  const { common } = page.texts
  if (filters.length === 0) return html``
  const state: FormState = { typed: asked.filters, errors: {} }
  const fieldOf = ({ name, label, options, isDay: isOfDay = false }: ListFilter): Html =>
    options === undefined
      ? field(state, { name, label, type: isOfDay ? 'date' : 'search', isOptional: true })
      : choice(state, { name, label, options })
  return html`<form class="search" action="${path}">
    ${filters.map(fieldOf)}
    <button>${common.find}</button>
  </form>`
}

function head<Row>({ path }: DeskList<Row>, { name, sort }: ListColumn<Row>, asked: Asked): Html | string {
  if (sort === undefined) return name
  const isSorted = sort === asked.sort
  const order = isSorted && asked.isDescending ? 'asc' : 'desc'
  const mark = isSorted ? (asked.isDescending ? ' ↓' : ' ↑') : ''
  return html`<a href="${addressOf(path, asked, { sort, order })}">${name}${mark}</a>`
}

function pager<Row>(page: DeskPage, { path }: DeskList<Row>, asked: Asked, hasMore: boolean): Html {
  const { common } = page.texts
  const to = (number: number, label: string): Html =>
    html`<a href="${addressOf(path, asked, { page: String(number) })}">${label}</a>`
  const isLast = asked.page === rowsMax / pageRows
  return html`<p class="row">
    ${asked.page > 1 ? to(asked.page - 1, common.previous) : ''}
    ${hasMore && !isLast ? to(asked.page + 1, common.next) : ''}
    ${hasMore && isLast ? html`<span class="quiet">${common.narrow}</span>` : ''}
    <a href="${addressOf(`${path}.csv`, asked)}">${common.csv}</a>
  </p>`
}

/** The parts of a list's page beside the list. */
interface Beside {
  readonly above?: Html
  readonly below?: Html
  /** The result of a form on the page. */
  readonly said?: string | undefined
  /** Why a form was refused. */
  readonly refused?: string | undefined
  /** A form has errors, which are shown in it. */
  readonly isWrong?: boolean
}

/** The page of a list with its filters, sort orders and pages. */
export async function showList<Row>(
  page: DeskPage,
  list: DeskList<Row>,
  { above, below, said, refused, isWrong = refused !== undefined }: Beside = {},
): Promise<Response> {
  const asked = ask(page, list)
  const rows = asked.refused === undefined ? await list.read(asked) : []
  const shown = rows.slice(0, pageRows)
  const columns = list.columns.map(column => ({ ...column, name: head(list, column, asked) }))
  const content = html`${list.hint === undefined ? '' : html`<p class="quiet">${list.hint}</p>`}
    ${notice(page)} ${said === undefined ? '' : html`<p class="notice" role="status">${said}</p>`}
    ${refusal(refused)} ${above ?? ''}
    <section class="card">
      ${filterForm(page, list, asked)} ${refusal(asked.refused)}
      ${dataTable({ label: list.label, empty: list.empty }, columns, shown)}
      ${pager(page, list, asked, rows.length > pageRows)}
    </section>
    ${below ?? ''}`
  const isRefused = isWrong || asked.refused !== undefined
  return page.context.html(titledPage(page, { title: list.label }, content), isRefused ? 422 : 200)
}

/** The rows of a list as CSV, as many as its pages show. */
export function downloadList<Row>(makeList: (page: DeskPage) => DeskList<Row>) {
  return async (page: DeskPage): Promise<Response> => {
    const list = makeList(page)
    const asked = ask(page, list)
    if (asked.refused !== undefined) return page.context.text(asked.refused, 422)
    const rows = await list.read({ ...asked, offset: 0, limit: rowsMax })
    const columns = list.columns.flatMap(({ name, csv }) => (csv === undefined ? [] : [{ name, csv }]))
    const table = [columns.map(one => one.name), ...rows.map(row => columns.map(one => one.csv(row)))]
    const today = isoDay(page.site.clock.now(), page.site.config.timeZone)
    return page.context.body(csvTable(table), 200, csvHeaders(list.path.slice(1), today))
  }
}
