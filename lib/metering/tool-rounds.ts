import type { RequestFacts } from '../dialects/dialect.ts'
import { boundOf, loopsMax, type ProviderTool } from '../dialects/provider-tools.ts'
import type { KnownProvider } from '../providers/known-provider.ts'
import { knownProvider } from '../providers/known-providers.ts'
import { agentsOf, unrequestedTools, type WorkingModel } from './unrequested-work.ts'

/** How often a model continues after the provider ran tools, and what it reads then. */
export interface ToolRounds {
  readonly count: number
  /** A stream reports each round while it happens. */
  readonly isSeen: boolean
  readonly searches: number
  /** The input that all rounds add after so many tokens, all of which are read again each time. */
  tokensAfter(tokens: number): number
  /** The same with at most this many uses of tools. */
  upTo(uses: number): ToolRounds
}

/** For a request without tools that the provider runs. */
export const noRounds: ToolRounds = {
  count: 0,
  isSeen: true,
  searches: 0,
  tokensAfter: () => 0,
  upTo: () => noRounds,
}

interface Uses {
  readonly uses: number
  readonly rounds: number
  readonly searches: number
  /** Infinity if only the window limits it. */
  readonly tokensPerUse: number
}

/** Providers document the cut of a fetched page as approximate. */
const contentMargin = 1.25

/** The maximum rounds of a request, by its provider's kind. */
export function toolRounds(
  facts: Pick<RequestFacts, 'tools' | 'toolUsesMax' | 'isCompacted' | 'candidates' | 'media' | 'reasoning'>,
  model: WorkingModel,
  windowTokens: number,
): ToolRounds {
  const { providerKind } = model
  const provider = knownProvider(providerKind)
  const roundsMax = provider.toolRoundsMax ?? loopsMax
  const tools = [...(facts.tools ?? []), ...unrequestedTools(facts.media, model)]
  const { callsMax, turnsMax } = requestBounds(facts, provider)
  const sum = { uses: 0, searches: 0, tokensPerUse: 0, rounds: 0 }
  let isSeen = true
  for (const tool of tools) {
    const bound = boundOf(tool, providerKind)
    const uses = Math.min(callsMax, ownUses(tool, provider) ?? bound.usesMax ?? roundsMax)
    const tokens = ownTokens(tool, provider) ?? bound.tokensPerUse
    sum.uses += uses
    sum.rounds += Math.min(uses, bound.usesMax ?? roundsMax)
    if (bound.isSearch === true) sum.searches += uses
    sum.tokensPerUse = Math.max(sum.tokensPerUse, tokens === 'window' ? Infinity : tokens)
    if (bound.isSeen !== true) isSeen = false
  }
  const compactions = facts.isCompacted === true ? 1 : 0
  const rounds = Math.min(sum.rounds, roundsMax, callsMax, turnsMax)
  // Each of several responses may search separately, and so may each of several agents.
  const answers = facts.candidates * agentsOf(model.upstreamModelName, facts.reasoning)
  return roundsOf(timesAnswers({ ...sum, rounds: rounds + compactions }, answers), isSeen, windowTokens)
}

/** The most uses of all tools together, and the most continuations after their results, if the provider reads it. */
function requestBounds(
  { toolUsesMax }: Pick<RequestFacts, 'toolUsesMax'>,
  { toolUsesMember, toolRoundsMember }: KnownProvider,
): { readonly callsMax: number; readonly turnsMax: number } {
  const { member, uses = 0 } = toolUsesMax ?? {}
  const isSaid = (read: string | undefined): boolean => read !== undefined && member === read
  return {
    callsMax: isSaid(toolUsesMember) ? uses : Infinity,
    turnsMax: isSaid(toolRoundsMember) ? uses : Infinity,
  }
}

/** A tool's own limit counts if its provider reads it: others ignore unknown members. */
function ownUses({ type, uses }: ProviderTool, { readsToolUses }: KnownProvider): number | undefined {
  return readsToolUses === true || type === 'searchparameters' ? uses : undefined
}

function ownTokens({ type, tokensPerUse }: ProviderTool, { cappedTools }: KnownProvider): number | undefined {
  return cappedTools?.test(type) === true && tokensPerUse !== undefined
    ? tokensPerUse * contentMargin
    : undefined
}

function timesAnswers(uses: Uses, answers: number): Uses {
  return answers === 1
    ? uses
    : {
        uses: uses.uses * answers,
        rounds: uses.rounds * answers,
        searches: uses.searches * answers,
        tokensPerUse: uses.tokensPerUse,
      }
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
