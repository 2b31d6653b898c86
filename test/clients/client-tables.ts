import type { Client } from './client.ts'

/** How a client reacted to one fault. */
export interface SeenFault {
  readonly fault: string
  /** How many requests it sent until it gave up, or was stopped. */
  readonly tries: number
  readonly seconds: number
  /** The client's message; absent where it was still trying when it was stopped. */
  readonly said?: string
}

/** The results of a client. */
export interface Seen {
  readonly client: Client
  readonly models: readonly string[]
  readonly faults: readonly SeenFault[]
}

const code = (text: string): string => `\`${text}\``

/** A row of a table, identified by its first cell. */
type Row = readonly [title: string, ...rest: string[]]

interface Table {
  /** The marker of its place in the page. */
  readonly mark: string
  readonly head: Row
  readonly rows: readonly Row[]
}

/** What was run of each client, and which models it requested. */
export function triedTable(seen: readonly Seen[]): Table {
  const rows = seen.map(({ client, models }): Row => [
    client.title,
    client.packages.map(code).join(', '),
    models.map(code).join(', '),
  ])
  return { mark: 'tried', head: ['client', 'what was run', 'models it asked for'], rows }
}

/** Each client's message for a refusal or a cut, with the number of requests and the time until it appears. */
export function faultsTable(seen: readonly Seen[]): Table {
  const rows = seen.map(({ client, faults }): Row => [client.title, ...faults.map(cellOf)])
  return { mark: 'refused', head: ['client', '402, no money', '429', '501', 'a cut'], rows }
}

/** A wait of only a few seconds is due to a slow machine. */
const tellingSeconds = 10

function cellOf({ tries, seconds, said }: SeenFault): string {
  if (said === undefined) return `still trying after ${seconds} s: ${tries} tries`
  if (tries === 1) return `at once: ${code(said)}`
  const time = seconds < tellingSeconds ? '' : ` in ${seconds} s`
  return `after ${tries} tries${time}: ${code(said)}`
}

/**
 * A page with the rows of a table between two of its markers. Rows of clients that were not run stay unchanged.
 * @param order the titles of all clients
 */
export function withTable(page: string, { mark, head, rows }: Table, order: readonly string[]): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [before, after] = [page.indexOf(begin), page.indexOf(end)]
  if (before === -1 || after === -1) throw new Error(`The page has no place for the table "${mark}".`)
  const known = new Map(rowsIn(page.slice(before, after)).map(row => [row[0], row]))
  for (const row of rows) known.set(row[0], row)
  const all = order.map(title => known.get(title)).filter(row => row !== undefined)
  return `${page.slice(0, before)}${begin}\n\n${tableOf(head, all)}\n\n${page.slice(after)}`
}

const above = 'as above'

function rowsIn(table: string): readonly Row[] {
  const lines = table.split('\n').filter(line => line.startsWith('|'))
  const rows: Row[] = []
  for (const line of lines.slice(2)) {
    const [title = '', ...rest] = line
      .slice(1, -1)
      .split(' | ')
      .map(cell => cell.trim())
    rows.push([
      title,
      ...rest.map((cell, index) => (cell === above ? (rows.at(-1)?.[index + 1] ?? '') : cell)),
    ])
  }
  return rows
}

function tableOf(head: Row, rows: readonly Row[]): string {
  const shown = rows.map((row, index) =>
    row.map((cell, column) => (isRepeated(cell, rows[index - 1]?.[column]) ? above : cell)),
  )
  return [head, head.map(() => '---'), ...shown].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

/** Long lists of packages are written "as above"; a short cell is repeated. */
function isRepeated(cell: string, before: string | undefined): boolean {
  return cell === before && cell.length > 40
}
