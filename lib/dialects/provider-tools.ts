import type { ProviderTool } from '../money/batch-facts.ts'
import type { ToolBound } from '../providers/known-provider.ts'
import { knownProvider } from '../providers/known-providers.ts'
import type { ScanResult } from '../http/json-scan.ts'
import type { UsageLine } from '../money/usage.ts'
import type { RequestFacts } from './dialect.ts'
import { anyOf, value } from './interest.ts'
import { lineOf } from './measure.ts'
import { names } from './named-objects.ts'
import { searched } from './naming-members.ts'
import { textOf } from './read-field.ts'

const memory = { memory_limit: value('containerMemory') }

/** Where a tool says in which container it runs its code. */
export const containerMembers = {
  container: anyOf(names('container'), searched(memory)),
  environment: searched({ type: value('containerKind'), ...memory }),
}

/** Tools that run in a container, by their types: OpenAI's, and Anthropic's with the day that ends it. */
const inContainer = /^(?:code_interpreter|code_execution_\d+)$/
/** The sizes that OpenAI has; the first unless a request says another. */
const sizes = ['1g', '4g', '16g', '64g'] as const
/** Run where the client says, which costs nothing. */
const localKinds: ReadonlySet<string> = new Set(['local'])

/**
 * The containers that a request rents, of the largest size it names. A container that is there already counts as well:
 * each request keeps it for twenty minutes more at OpenAI, and for five at Anthropic.
 * https://developers.openai.com/api/docs/guides/tools-code-interpreter,
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool
 */
export function containersIn({ findings }: ScanResult): Pick<RequestFacts, 'units' | 'unitsVariant'> {
  let containers = 0
  let largest = 0
  for (const finding of findings) {
    const { name, type } = finding
    if (type === 'null') continue
    if (name === 'toolType' && inContainer.test(textOf(finding))) containers += 1
    else if (name === 'containerKind' && !localKinds.has(textOf(finding))) containers += 1
    else if (name === 'containerMemory') {
      const size = sizes.findIndex(one => one === textOf(finding))
      largest = Math.max(largest, size === -1 ? sizes.length - 1 : size)
    }
  }
  if (containers === 0) return {}
  return { units: { containers }, ...(largest > 0 && { unitsVariant: sizes[largest] }) }
}

/** What a response's containers are charged as: at the price of no tier. */
export function containersLine(
  { units, unitsVariant }: Pick<RequestFacts, 'units' | 'unitsVariant'>,
  providerKind: string,
): UsageLine | undefined {
  if (units?.containers === undefined || !rentsContainers(providerKind)) return undefined
  return lineOf({ containers: units.containers }, { variant: unitsVariant })
}

/** What a prompt may bring that is stored at its provider, where nobody sees its tools before they run. */
export const rentedUnseen = { units: { containers: 1 }, unitsVariant: sizes[sizes.length - 1] } as const

/** What a response of such a prompt is charged: for the container that it tells of, of the size that it tells. */
export function unseenLine(memory: unknown): UsageLine {
  const size = sizes.find(one => one === memory) ?? sizes[0]
  return { meters: rentedUnseen.units, ...(size !== sizes[0] && { variant: size }) }
}

/** Whether a provider rents containers out, by its kind. Others bill code by its runs, or not at all. */
export function rentsContainers(providerKind: string): boolean {
  return knownProvider(providerKind).rentsContainers === true
}

export type { ProviderTool }

/**
 * How often a model goes on after what its tools returned, all of which it reads again each time. Anthropic stops
 * after ten (`pause_turn`); the others document no limit, and have not been recorded to go further.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
 */
export const loopsMax = 10
/** Run by the client, which sends what they return as input of its next request. */
const clientRun =
  /^(?:function|functions|custom|namespace|applypatch|localshell|computer(?:use(?:preview)?)?(?:\d+)?|bash\d+|texteditor\d+|memory\d+|functiondeclarations|inputschema|parameters|parameterdefinitions|responsehealing|contextcompression)$/

/** Of these the provider tells its model how to use them, in up to 735 tokens each. */
const explained = /^(?:bash|texteditor|computer|memory)/

const anthropicTools = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/'
const openaiGuides = 'https://developers.openai.com/api/docs/guides/'
const googleDocs = 'https://ai.google.dev/gemini-api/docs/'

/** A row for each tool that is not a provider's own, of which the first that fits holds. */
const toolBounds: readonly ToolBound[] = [
  {
    name: 'web_fetch',
    pattern: /^webfetch/,
    tokensPerUse: 'window',
    isSeen: true,
    source: `${anthropicTools}web-fetch-tool: max_content_tokens, else what the page has; no fee`,
  },
  {
    name: 'tool_search',
    pattern: /^toolsearch/,
    tokensPerUse: 0,
    isSeen: true,
    source: `${anthropicTools}tool-search-tool: shows definitions that are in the request already`,
  },
  {
    name: 'image_generation',
    pattern: /^imagegeneration$/,
    tokensPerUse: 0,
    isSeen: true,
    source: `${openaiGuides}tools-image-generation: the image is billed by the model that draws`,
  },
  {
    name: 'google_search',
    pattern: /^googlesearch(?:retrieval)?$|^enterprisewebsearch$/,
    tokensPerUse: 4096,
    isSearch: true,
    source: `${googleDocs}pricing: retrieved text is no input; its instructions are (73 to 771 tokens recorded)`,
  },
  {
    name: 'google_maps',
    pattern: /^googlemaps$/,
    tokensPerUse: 'window',
    isSearch: true,
    source: `${googleDocs}maps-grounding`,
  },
  {
    name: 'url_context',
    pattern: /^urlcontext$/,
    tokensPerUse: 'window',
    source: `${googleDocs}url-context: 20 addresses of 34 MB each, all of which is input`,
  },
  {
    name: 'advisor',
    pattern: /^advisor/,
    tokensPerUse: 'window',
    isSeen: true,
    source: `${anthropicTools}advisor-tool: the whole transcript is read by the advisor's model at its price`,
  },
  {
    name: 'research (Perplexity)',
    pattern: /^research$/,
    tokensPerUse: 'window',
    usesMax: 100,
    isSearch: true,
    source: 'https://docs.perplexity.ai/docs/sonar/models/sonar-deep-research: 28 searches in its example',
  },
  {
    name: 'models that search once for each answer (OpenAI)',
    pattern: /^searchmodelpreview$/,
    tokensPerUse: 0,
    usesMax: 1,
    isSearch: true,
    source: 'https://developers.openai.com/api/docs/pricing: what is found is not billed with gpt-4o',
  },
  {
    name: 'models that search once for each answer, and read it (OpenAI)',
    pattern: /^searchmodelapi$/,
    tokensPerUse: 128_000,
    usesMax: 1,
    isSearch: true,
    source: 'https://developers.openai.com/api/docs/pricing: what is found is billed as input',
  },
  {
    name: 'attached files (xAI)',
    pattern: /^attachmentsearch$/,
    tokensPerUse: 'window',
    isSearch: true,
    source: 'https://docs.x.ai/developers/pricing: $10 for 1,000 calls, made as often as the model likes',
  },
  {
    name: 'live search (xAI)',
    pattern: /^searchparameters$/,
    tokensPerUse: 'window',
    usesMax: 1,
    isSearch: true,
    source: 'https://docs.x.ai/docs/guides/live-search: each source is a search; 20 unless said',
  },
  {
    name: 'searches of other providers',
    pattern: /^web$|^(?:web|x|browser|google|collections)search/,
    tokensPerUse: 'window',
    isSearch: true,
    isSeen: true,
    source: 'docs.x.ai, console.groq.com, docs.mistral.ai, openrouter.ai/docs: no limit of what is read',
  },
  {
    name: 'code execution and containers',
    pattern: /^codeexecution|^codeinterpreter|^shell/,
    tokensPerUse: 'window',
    isSeen: true,
    source: `${anthropicTools}code-execution-tool, ${openaiGuides}tools-code-interpreter: output is read whole`,
  },
  {
    name: 'MCP',
    pattern: /^mcp/,
    tokensPerUse: 'window',
    isSeen: true,
    source: `${anthropicTools}mcp-connector, ${openaiGuides}tools-connectors-mcp: results are read whole`,
  },
  {
    name: 'unknown',
    pattern: /(?:)/,
    tokensPerUse: 'window',
    isSearch: true,
    source: 'what no row knows is bounded by the context window alone',
  },
]

/** Whether a tool that the client runs brings instructions of the provider's own. */
export function isExplained(type: string): boolean {
  return explained.test(type.toLowerCase().replaceAll(/[^a-z\d]/g, ''))
}

/** A type as `ProviderTool` has it; undefined for a tool that the client runs. */
export function plainType(type: string): string | undefined {
  const plain = type.toLowerCase().replaceAll(/[^a-z\d]/g, '')
  return clientRun.test(plain) ? undefined : plain
}

const unbounded = toolBounds[toolBounds.length - 1] as ToolBound

/** What a tool may cost at a provider, by the provider's kind. */
export function boundOf({ type }: ProviderTool, providerKind: string): ToolBound {
  const fits = ({ pattern }: ToolBound): boolean => pattern.test(type)
  return knownProvider(providerKind).tools?.find(fits) ?? toolBounds.find(fits) ?? unbounded
}
