import { html } from 'hono/html'
import type { Html } from '../web-page.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly name: Html | string
  readonly cell: (row: Row) => Html | string
  readonly isNumber?: boolean
  /** Hidden on a small screen. */
  readonly isWide?: boolean
  /** The header cell of its row. */
  readonly isHead?: boolean
}

interface TableOptions {
  /** The name for screen readers. */
  readonly label: string
  /** Shown when there are no rows. */
  readonly empty: Html | string
}

/** A table with column headers; on a small screen it scrolls sideways. */
export function dataTable<Row>(
  { label, empty }: TableOptions,
  columns: readonly Column<NoInfer<Row>>[],
  rows: readonly Row[],
): Html {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`
  const className = ({ isNumber = false, isWide = false }: Column<Row>): Html =>
    isNumber ? html`class="number"` : isWide ? html`class="wide-only"` : html``
  return html`<div class="table" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${columns.map(column => (column.name === '' ? html`<td></td>` : html`<th scope="col" ${className(column)}>${column.name}</th>`))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr>
              ${columns.map(column => (column.isHead === true ? html`<th scope="row">${column.cell(row)}</th>` : html`<td ${className(column)}>${column.cell(row)}</td>`))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/**
 * A table with column headers; on a phone each row is displayed as a card. Explicit roles restore the table semantics
 * that the style removes there.
 */
export function cardTable(
  label: string,
  className: string,
  columns: readonly Pick<Column<never>, 'name' | 'isNumber'>[],
  rows: readonly Html[],
): Html {
  const head = ({ name, isNumber = false }: (typeof columns)[number]): Html =>
    html`<th scope="col" role="columnheader" ${isNumber ? html`class="number"` : ''}>${name}</th>`
  return html`<div class="table" tabindex="0" role="region" aria-label="${label}">
    <table class="${className}" role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(head)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows}
      </tbody>
    </table>
  </div>`
}

/** A highlighted amount: one of several side by side, or the main one. */
export function figure(label: string, value: string, { isMain = false, note = '' } = {}): Html {
  return html`<div class="figure ${isMain ? 'main' : ''}">
    <dt>${label}</dt>
    <dd>${value}</dd>
    ${note === '' ? '' : html`<dd class="note">${note}</dd>`}
  </div>`
}

/** An item of a list: its name, details, and an amount or an action. */
interface Entry {
  readonly name: Html | string
  readonly note: string
  readonly beside: Html | string
}

/** A list without columns. */
export function entryList(entries: readonly Entry[]): Html {
  return html`<ul class="plain-list entries">
    ${entries.map(
      ({ name, note, beside }) =>
        html`<li>
          <span>${name} <span class="quiet small">${note}</span></span>
          <div class="number">${beside}</div>
        </li>`,
    )}
  </ul>`
}

/** Names with their values, side by side; null values are omitted. */
export function facts(
  all: readonly (readonly [name: string, value: Html | string | null])[],
  className = 'facts',
): Html {
  return html`<dl class="${className}">
    ${all.map(([name, value]) =>
      value === null
        ? ''
        : html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
    )}
  </dl>`
}
