import type { RequestFacts } from '../dialects/dialect.ts'
import { boundOf, loopsMax, type ProviderTool } from '../dialects/provider-tools.ts'

/** How often a model goes on after what tools returned that its provider runs, and what it reads then. */
export interface ToolRounds {
  readonly count: number
  /** A stream tells of each while it is made. */
  readonly isSeen: boolean
  readonly searches: number
  /** What all of them give it to read after so many tokens, all of which it reads again each time. */
  tokensAfter(tokens: number): number
  /** The same when tools are used so often and no more. */
  upTo(uses: number): ToolRounds
}

interface Uses {
  readonly uses: number
  readonly rounds: number
  readonly searches: number
  /** Infinity where only the window bounds it. */
  readonly tokensPerUse: number
}

/** What a fetched page is cut to is said to be approximate. */
const contentMargin = 1.25

/** Models that look things up without being asked to, and say nothing of it before their usage. */
const searchesByItself = /(?:^|\/)(?:sonar-deep|compound|.*deep-research)/

/** The rounds that a request may take at most, by its provider's kind. */
export function toolRounds(
  facts: Pick<RequestFacts, 'tools' | 'toolUsesMax' | 'isCompacted'>,
  { providerKind, upstreamModelName }: { readonly providerKind: string; readonly upstreamModelName: string },
  windowTokens: number,
): ToolRounds {
  const own: readonly ProviderTool[] = searchesByItself.test(upstreamModelName) ? [{ type: 'agent' }] : []
  const tools = [...(facts.tools ?? []), ...own]
  const most = facts.toolUsesMax ?? Infinity
  const sum = { uses: 0, searches: 0, tokensPerUse: 0, rounds: 0 }
  let isSeen = true
  for (const tool of tools) {
    const bound = boundOf(tool, providerKind)
    const uses = Math.min(most, tool.uses ?? bound.usesMax ?? loopsMax)
    const tokens = tool.tokensPerUse === undefined ? bound.tokensPerUse : tool.tokensPerUse * contentMargin
    sum.uses += uses
    sum.rounds += Math.min(uses, bound.usesMax ?? loopsMax)
    if (bound.isSearch === true) sum.searches += uses
    sum.tokensPerUse = Math.max(sum.tokensPerUse, tokens === 'window' ? Infinity : tokens)
    if (bound.isSeen !== true) isSeen = false
  }
  const compactions = facts.isCompacted === true ? 1 : 0
  const rounds = Math.min(sum.rounds, loopsMax, most)
  return roundsOf({ ...sum, rounds: rounds + compactions }, isSeen, windowTokens)
}

function roundsOf(uses: Uses, isSeen: boolean, windowTokens: number): ToolRounds {
  return {
    count: uses.rounds,
    isSeen,
    searches: uses.searches,
    tokensAfter(tokens) {
      if (uses.rounds === 0) return 0
      const returned = uses.uses === 0 ? 0 : uses.uses * uses.tokensPerUse
      return uses.rounds * Math.min(windowTokens, tokens + returned)
    },
    upTo: most =>
      roundsOf(
        {
          uses: Math.min(most, uses.uses),
          rounds: Math.min(most, uses.rounds),
          searches: Math.min(most, uses.searches),
          tokensPerUse: uses.tokensPerUse,
        },
        isSeen,
        windowTokens,
      ),
  }
}
