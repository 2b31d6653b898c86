import type { Finding, ScanResult } from '../http/json-scan.ts'
import { list, span, value } from './interest.ts'
import { searched } from './naming-members.ts'

const names = {
  kind: 'toolType',
  uses: 'toolUses',
  asked: 'searchAsked',
  results: 'searchResults',
  mode: 'searchMode',
}

/** Where a tool says what it is, and how often it may be used. */
export const toolMembers = { type: value(names.kind), max_uses: value(names.uses) }

/** Where requests in OpenAI's format ask for searches beside their tools: OpenAI's, OpenRouter's, xAI's. */
export const searchMembers = {
  web_search_options: span(names.asked),
  plugins: list(searched({ id: value(names.kind) })),
  search_parameters: searched(
    { mode: value(names.mode), max_search_results: value(names.results) },
    span(names.asked),
  ),
}

/** Google's tools are told by the name of their member, which is folded. */
export const googleSearchMembers = {
  googlesearch: span(names.asked),
  googlesearchretrieval: span(names.asked),
  enterprisewebsearch: span(names.asked),
  googlemaps: span(names.asked),
}

const searchTool = /^web$|^(?:web|x|google)_search|^google_maps/
/** xAI reads so many sources, each of which is billed, unless it is told otherwise. */
const sourcesUnlessSaid = 20

/** How many searches a request is taken to ask for: each tool's own limit, and one where it has none. */
export function searchesIn({ findings }: ScanResult): number {
  let searches = 0
  const limits = new Map<string, number>()
  for (const finding of findings) {
    const count = finding.name === names.uses ? countOf(finding) : undefined
    if (count !== undefined) limits.set(folderOf(finding), count)
  }
  for (const finding of findings) {
    if (finding.name === names.asked && finding.type === 'object') searches += askedFor(finding, findings)
    else if (finding.name === names.kind && searchTool.test(String(parsed(finding))))
      searches += limits.get(folderOf(finding)) ?? 1
  }
  return searches
}

function folderOf({ path }: Finding): string {
  return path.slice(0, path.lastIndexOf('.') + 1)
}

function askedFor({ path }: Finding, findings: readonly Finding[]): number {
  if (!path.endsWith('search_parameters')) return 1
  const inside = findings.filter(finding => finding.path.startsWith(`${path}.`))
  if (inside.some(finding => finding.name === names.mode && parsed(finding) === 'off')) return 0
  const results = inside.find(finding => finding.name === names.results)
  return (results && countOf(results)) ?? sourcesUnlessSaid
}

function countOf(finding: Finding): number | undefined {
  const count = parsed(finding)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

function parsed({ raw }: Finding): unknown {
  return raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
}
