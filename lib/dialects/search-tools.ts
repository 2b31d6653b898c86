import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { RequestFacts } from './dialect.ts'
import { anyOf, list, span, value } from './interest.ts'
import { isSpelled } from './read-field.ts'
import { searched } from './naming-members.ts'
import { boundOf, isExplained, plainType } from './provider-tools.ts'
import type { ProviderTool } from '../money/batch-facts.ts'
import { chunkTokensMax } from '../providers/openai.ts'
import { openrouter } from '../providers/openrouter.ts'

const names = {
  list: 'toolList',
  kind: 'toolType',
  uses: 'toolUses',
  tokens: 'toolTokens',
  chunks: 'toolChunks',
  asked: 'toolAsked',
  switched: 'toolSwitched',
  item: 'toolItem',
  client: 'toolOfClient',
  outputs: 'toolOutputs',
  nested: 'toolNested',
  results: 'searchResults',
  mode: 'searchMode',
}

const toolList = span(names.list)

/** The members for a tool's type, its maximum uses, the size of its results, and its output cap. */
export const toolMembers = {
  type: value(names.kind),
  max_uses: value(names.uses),
  max_content_tokens: value(names.tokens),
  max_num_results: value(names.chunks),
  max_tokens: value(names.outputs),
}

const asked: Interest = searched({}, span(names.asked))
const ofClient: Interest = searched({}, span(names.client))
/** OpenRouter's advisors have tools of their own in their parameters. */
const parametersOfTool: Interest = searched({ tools: span(names.nested) }, span(names.client))
const switched = value(names.switched)

/** Tools that Google names by a member, which its endpoint accepts in other formats too. */
const googleTools = {
  google_search: asked,
  google_search_retrieval: asked,
  google_maps: asked,
  url_context: asked,
  code_execution: asked,
  enterprise_web_search: asked,
}

/**
 * A tool with a type; without one it is the client's own if it has a description, and unknown otherwise.
 * @param more further members of a tool
 * @param inFunction further members of the function that a tool describes
 */
export function toolInterest(
  more: Readonly<Record<string, Interest>> = {},
  inFunction: Readonly<Record<string, Interest>> = {},
): Interest {
  return searched(
    {
      ...googleTools,
      function: searched(inFunction, span(names.client)),
      parameters: parametersOfTool,
      parameter_definitions: ofClient,
      input_schema: ofClient,
      ...toolMembers,
      ...more,
    },
    span(names.item),
  )
}

/** The tools of a request: a list, or a single one without brackets. */
export function toolsInterest(tool: Interest): Interest {
  return anyOf(tool, list(tool, toolList))
}

/** MCP servers, each of which the provider may call. */
const mcpServers = list(asked)

/** Google's tools are identified by the name of their member, which is folded. They have no `type` there. */
export const googleTool: Interest = searched({ '*': asked })

const named: Interest = searched({ id: value(names.kind) }, span(names.item))

/**
 * The members that request searches in OpenAI's format, beside tools: OpenAI's, OpenRouter's and MiniMax's plugins,
 * xAI's, Cohere's connectors, Qwen's switches and Venice's.
 */
export const searchMembers = {
  web_search_options: span(names.asked),
  plugins: anyOf(named, list(named)),
  connectors: anyOf(named, list(named)),
  search_parameters: searched(
    { mode: value(names.mode), max_search_results: value(names.results) },
    span(names.asked),
  ),
  mcp_servers: mcpServers,
  web_search: switched,
  enable_search: switched,
  search_options: span(names.asked),
  enable_code_interpreter: switched,
  venice_parameters: searched({
    enable_web_search: switched,
    enable_web_scraping: switched,
    enable_x_search: switched,
  }),
}

/** xAI's default number of sources, each of which is billed. */
const sourcesUnlessSaid = 20

/** Findings with these names show that a request has tools, or a list of them. */
export const toolFindings: readonly string[] = [
  names.list,
  names.kind,
  names.asked,
  names.switched,
  names.item,
]

/** The tools of a request that add to its cost. */
export function toolsIn(scan: ScanResult): Pick<RequestFacts, 'tools' | 'explainedTools' | 'searches'> {
  const tools = providerToolsIn(scan)
  const searches = searchesOf(tools)
  const explained = explainedTools(scan)
  return {
    ...(tools.length > 0 && { tools }),
    ...(explained > 0 && { explainedTools: explained }),
    ...(searches > 0 && { searches }),
  }
}

/** The number of tools for which the provider writes instructions, plus one for its general instructions. */
function explainedTools({ findings }: ScanResult): number {
  let count = 0
  for (const { name, type, raw } of findings) {
    if (name === names.list && type !== 'null') count += 1
    else if (name === names.kind && raw !== undefined && isExplained(raw.toString('latin1'))) count += 1
  }
  return count
}

/** The tools that the provider runs for a request, as far as the request names them. */
export function providerToolsIn({ findings }: ScanResult): readonly ProviderTool[] {
  const tools: ProviderTool[] = []
  const said = saidByFolder(findings)
  const told = new Set(findings.filter(({ name }) => tells.has(name)).map(folderOf))
  for (const finding of findings) {
    if (finding.name === names.kind) {
      const type = plainType(String(parsed(finding)))
      if (type !== undefined) tools.push({ type, ...said.get(folderOf(finding)) })
    } else if (finding.name === names.item) {
      if (!told.has(`${finding.path}.`) && finding.type !== 'null') tools.push({ type: 'untyped' })
    } else if (isAsked(finding)) {
      const tool = toolAsked(finding, findings)
      if (tool !== undefined) tools.push(tool)
    }
  }
  return tools
}

/** Findings that identify the type of an item in a list. */
const tells: ReadonlySet<string> = new Set([names.kind, names.asked, names.client])

const isModelOfTool = /\](?:\.parameters)?\.model$/i

type Said = Omit<ProviderTool, 'type'>

/** OpenRouter's advisors are described in their parameters. */
const inParameters = /parameters\.$/i

/** The settings of tools, by the object of each tool. */
function saidByFolder(findings: readonly Finding[]): ReadonlyMap<string, Said> {
  const said = new Map<string, Said>()
  for (const finding of findings) {
    const more = saidBy(finding)
    const folder = folderOf(finding).replace(inParameters, '')
    if (more !== undefined) said.set(folder, { ...said.get(folder), ...more })
  }
  return said
}

function saidBy(finding: Finding): Said | undefined {
  if (finding.name === names.nested) return { steps: openrouter.toolRoundsMax }
  const isModel = isModelOfTool.test(finding.path) && finding.raw !== undefined
  if (isModel && finding.type === 'string') return { model: String(parsed(finding)) }
  const count = finding.type === 'number' && isSpelled(finding) ? countOf(finding) : undefined
  if (count === undefined) return undefined
  if (finding.name === names.uses) return { uses: count }
  if (finding.name === names.outputs) return count === 0 ? undefined : { outputTokens: count }
  if (finding.name === names.tokens) return { tokensPerUse: count }
  return finding.name === names.chunks ? { tokensPerUse: count * chunkTokensMax } : undefined
}

function folderOf({ path }: Finding): string {
  return path.slice(0, path.lastIndexOf('.') + 1)
}

const isOff: ReadonlySet<unknown> = new Set([
  null,
  false,
  0,
  '',
  '0',
  'false',
  'off',
  'none',
  'no',
  'disabled',
])

/** A member that is off, or that has another meaning, is not a tool. Some servers read `1` and `"true"` as true. */
function isAsked(finding: Finding): boolean {
  const { name, type } = finding
  if (name === names.switched) return !isOff.has(parsed(finding))
  return name === names.asked && (type === 'object' || type === 'array' || type === 'true')
}

function toolAsked(finding: Finding, findings: readonly Finding[]): ProviderTool | undefined {
  const member = finding.path.slice(finding.path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '')
  const type = plainType(member)
  if (type === undefined) return undefined
  return type === 'searchparameters' ? liveSearch(finding, findings) : { type }
}

function liveSearch({ path }: Finding, findings: readonly Finding[]): ProviderTool | undefined {
  const inside = findings.filter(finding => finding.path.startsWith(`${path}.`))
  if (inside.some(finding => finding.name === names.mode && isSpelled(finding) && parsed(finding) === 'off'))
    return undefined
  const results = inside.find(finding => finding.name === names.results && isSpelled(finding))
  return { type: 'searchparameters', uses: (results && countOf(results)) ?? sourcesUnlessSaid }
}

/** How many searches such tools usually make: one each, and one for each of xAI's sources. */
export function searchesOf(tools: readonly ProviderTool[]): number {
  let searches = 0
  for (const tool of tools) {
    if (boundOf(tool, '').isSearch !== true) continue
    searches +=
      tool.type === 'searchparameters' ? (tool.uses ?? sourcesUnlessSaid) : Math.min(1, tool.uses ?? 1)
  }
  return searches
}

function countOf(finding: Finding): number | undefined {
  const count = parsed(finding)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

function parsed({ raw }: Finding): unknown {
  return raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
}
