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

/** The members in which a tool names the container for its code. */
export const containerMembers = {
  container: anyOf(names('container'), searched(memory)),
  environment: searched({ type: value('containerKind'), ...memory }),
}

/** Types of tools that run in a container: OpenAI's, and Anthropic's, which end in a date. */
const inContainer = /^(?:code_interpreter|code_execution_\d+)$/
/** OpenAI's container sizes; the first is the default. */
const sizes = ['1g', '4g', '16g', '64g'] as const
/** Containers that the client runs itself, which cost nothing. */
const localKinds: ReadonlySet<string> = new Set(['local'])

/**
 * The containers that a request rents, of the largest size it names. An existing container counts as well: each request
 * extends it by twenty minutes at OpenAI, and by five at Anthropic.
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

/** The usage line of a response's containers: no tier applies to them. */
export function containersLine(
  { units, unitsVariant }: Pick<RequestFacts, 'units' | 'unitsVariant'>,
  providerKind: string,
): UsageLine | undefined {
  if (units?.containers === undefined || !rentsContainers(providerKind)) return undefined
  return lineOf({ containers: units.containers }, { variant: unitsVariant })
}

/** The most that a prompt stored at its provider may rent, since its tools are unknown before they run. */
export const rentedUnseen = { units: { containers: 1 }, unitsVariant: sizes[sizes.length - 1] } as const

/** The charge for a response to such a prompt: one container, of the size that the response reports. */
export function unseenLine(memory: unknown): UsageLine {
  const size = sizes.find(one => one === memory) ?? sizes[0]
  return { meters: rentedUnseen.units, ...(size !== sizes[0] && { variant: size }) }
}

/** Whether a provider rents out containers, by its kind. Others bill code by its runs, or not at all. */
export function rentsContainers(providerKind: string): boolean {
  return knownProvider(providerKind).rentsContainers === true
}

export type { ProviderTool }

/**
 * How many times a model continues after its tools returned, each time reading everything again. Anthropic stops after
 * ten (`pause_turn`); the others document no limit, and no recording goes further.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
 */
export const loopsMax = 10
/** Tools that the client runs; it sends their results in its next request. */
const clientRun =
  /^(?:function|functions|custom|namespace|applypatch|localshell|computer(?:use(?:preview)?)?(?:\d+)?|bash\d+|texteditor\d+|memory\d+|functiondeclarations|inputschema|parameters|parameterdefinitions|responsehealing|contextcompression)$/

/** For these tools the provider adds instructions to the prompt, of up to 735 tokens each. */
const explained = /^(?:bash|texteditor|computer|memory)/

const anthropicTools = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/'
const openaiGuides = 'https://developers.openai.com/api/docs/guides/'
const googleDocs = 'https://ai.google.dev/gemini-api/docs/'

/** A row for each tool that the client does not run itself; the first matching row applies. */
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

/** Whether the provider adds instructions for a tool that the client runs. */
export function isExplained(type: string): boolean {
  return explained.test(type.toLowerCase().replaceAll(/[^a-z\d]/g, ''))
}

/** A type as `ProviderTool` has it; undefined for a tool that the client runs. */
export function plainType(type: string): string | undefined {
  const plain = type.toLowerCase().replaceAll(/[^a-z\d]/g, '')
  return clientRun.test(plain) ? undefined : plain
}

const unbounded = toolBounds[toolBounds.length - 1] as ToolBound

/** The most that a tool may cost at a provider, by the provider's kind. */
export function boundOf({ type }: ProviderTool, providerKind: string): ToolBound {
  const fits = ({ pattern }: ToolBound): boolean => pattern.test(type)
  return knownProvider(providerKind).tools?.find(fits) ?? toolBounds.find(fits) ?? unbounded
}
