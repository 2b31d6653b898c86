import type { Client } from './client.ts'

/** How a client took one way of going wrong. */
export interface SeenFault {
  readonly fault: string
  /** How often it asked until it gave up, or was given up. */
  readonly tries: number
  readonly said: string
}

/** What was seen of a client. */
export interface Seen {
  readonly client: Client
  readonly models: readonly string[]
  readonly faults: readonly SeenFault[]
}

const code = (text: string): string => `\`${text}\``

/** What was run of each client, and which models it asked for. */
export function triedTable(seen: readonly Seen[]): string {
  const rows = seen.map(({ client, models }, index) => [
    client.title,
    seen[index - 1]?.client.packages === client.packages ? 'as above' : client.packages.map(code).join(', '),
    models.map(code).join(', '),
  ])
  return tableOf(['client', 'what was run', 'models it asked for'], rows)
}

/** What each client says of a refusal or a cut, and how often it asks until it says so. */
export function faultsTable(seen: readonly Seen[]): string {
  const rows = seen.map(({ client, faults }) => [
    client.title,
    ...faults.map(({ tries, said }) => `${tries === 1 ? 'at once' : `after ${tries} tries`}: ${code(said)}`),
  ])
  return tableOf(['client', '402, no money', '429', '501', 'a cut'], rows)
}

/** A page with a table between two of its marks. */
export function withTable(page: string, mark: string, table: string): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [before, after] = [page.indexOf(begin), page.indexOf(end)]
  if (before === -1 || after === -1) throw new Error(`The page has no place for the table "${mark}".`)
  return `${page.slice(0, before)}${begin}\n\n${table}\n\n${page.slice(after)}`
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
