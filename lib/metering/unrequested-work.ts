import type { RequestFacts } from '../dialects/dialect.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import type { Target } from '../models/choose-provider.ts'
import { knownProvider } from '../providers/known-providers.ts'
import { addMeters, type Meters } from '../money/usage.ts'

/** The responding model, as far as it decides which work is done without a request. */
export interface WorkingModel {
  readonly providerKind: string
  readonly upstreamModelName: string
}

/**
 * Models that search without a request to do so, and report it only in their usage. OpenRouter makes any model search
 * whose name has this suffix, and Venice one whose name has this switch.
 */
const searchesByItself = /(?:^|\/)(?:compound|.*deep-research)|:online$|[:&]enable_\w+=(?!off|false)/
/** https://docs.perplexity.ai/docs/sonar/models/sonar-deep-research: dozens of searches. */
const researches = /(?:^|\/)sonar-deep-research/
/** https://developers.openai.com/api/docs/guides/tools-web-search: once per response. */
const searchesOnce = /-search-(preview|api)\b/
/** https://docs.x.ai/developers/model-capabilities/text/multi-agent */
const isOfAgents = /(?:^|\/)grok-.*multi-agent/
const agentsFew = 4
const agentsMost = 16
const fewAgentsAt: ReadonlySet<string | undefined> = new Set(['low', 'medium'])

/** The tools that a model or its provider runs without a request for them. */
export function unrequestedTools(
  media: RequestFacts['media'],
  { providerKind, upstreamModelName }: WorkingModel,
): readonly ProviderTool[] {
  const tools: ProviderTool[] = []
  if (researches.test(upstreamModelName)) tools.push({ type: 'research' })
  else if (searchesByItself.test(upstreamModelName)) tools.push({ type: 'agent' })
  const once = searchesOnce.exec(upstreamModelName)?.[1]
  if (once !== undefined) tools.push({ type: `searchmodel${once}` })
  const isAttached = media.some(({ kind }) => kind === 'document' || kind === 'other')
  if (isAttached && knownProvider(providerKind).searchesAttachments === true)
    tools.push({ type: 'attachmentsearch' })
  return tools
}

/** The types of all tools that the provider may run for a request, as a charge's alarms name them. */
export function toolTypes(
  { tools = [], media }: Pick<RequestFacts, 'tools' | 'media'>,
  { provider, upstreamModelName, batch }: Pick<Target, 'provider' | 'upstreamModelName' | 'batch'>,
): readonly string[] {
  const unrequested = unrequestedTools(media, { providerKind: provider.kind, upstreamModelName })
  return [...new Set([...tools, ...(batch?.tools ?? []), ...unrequested].map(({ type }) => type))]
}

/** The units of a request, including the search that its model makes for every response. */
export function unitsOf(
  { units, candidates }: Pick<RequestFacts, 'units' | 'candidates'>,
  upstreamModelName: string,
): Meters | undefined {
  return searchesOnce.test(upstreamModelName) ? addMeters({ searches: candidates }, units) : units
}

/** How many agents of a model work on one response; each reads the request and is billed for its output. */
export function agentsOf(upstreamModelName: string, reasoning: RequestFacts['reasoning'] = []): number {
  if (!isOfAgents.test(upstreamModelName)) return 1
  const efforts = reasoning.map(({ effort }) => effort)
  return efforts.length > 0 && efforts.every(effort => fewAgentsAt.has(effort)) ? agentsFew : agentsMost
}

/** The tokens that providers add to a request: the turns, and instructions for tools. */
const aroundTokens = 64
const aroundToolsTokens = 1024

/** The tokens that a provider adds to so many requests with so many explained tools. */
export function tokensAround(
  providerKind: string,
  { requests, explained }: { readonly requests: number; readonly explained: number },
): number {
  const each = aroundTokens + (knownProvider(providerKind).instructionTokens ?? 0)
  return requests * each + explained * aroundToolsTokens
}

/** For a document without a known number of pages. */
const pagesMax = 1000

/**
 * The maximum units billed by the piece beside tokens: its searches, the request, and fees that only a stated cost
 * reports.
 */
export function feesAtMost(
  { media, writesImages, candidates }: Pick<RequestFacts, 'media' | 'writesImages' | 'candidates'>,
  providerKind: string,
  searches: number,
): Meters {
  const { fees } = knownProvider(providerKind)
  if (fees === undefined) return { searches, requests: 1 }
  let pages = 0
  for (const part of media) {
    if (part.kind === 'document' || part.kind === 'other') pages += part.pages ?? pagesMax
  }
  const images = writesImages === true ? candidates : 0
  return {
    searches,
    requests: 1,
    statedUsd: images * fees.imageUsd + pages * fees.pageUsd + searches * fees.searchUsd,
  }
}
