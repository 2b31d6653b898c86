import { html } from 'hono/html'
import type { Html } from '../../web/web-page.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly name: Html | string
  readonly cell: (row: Row) => Html | string
  readonly isNumber?: boolean
}

interface TableOptions {
  /** What a screen reader calls it. */
  readonly label: string
  /** Shown where there are no rows. */
  readonly empty: string
}

/** Rows under named columns; on a small screen it can be scrolled sideways. */
export function dataTable<Row>(
  { label, empty }: TableOptions,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`
  const className = ({ isNumber = false }: Column<Row>): Html => (isNumber ? html`class="number"` : html``)
  return html`<div class="table" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${columns.map(column => html`<th scope="col" ${className(column)}>${column.name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr>
              ${columns.map(column => html`<td ${className(column)}>${column.cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}
