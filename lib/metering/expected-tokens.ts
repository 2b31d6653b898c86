import type { RequestFacts } from '../dialects/dialect.ts'
import { likelyTextTokens } from '../http/text-density.ts'
import { addMeters, tokensOf, type Meters, type UsageReading } from '../money/usage.ts'
import { windowTokensOf, type CostTarget } from './exchange-cost.ts'
import { outputCap } from './output-cap.ts'
import { toolRounds } from './tool-rounds.ts'

/**
 * The input that a response may have read through reported uses of tools, where no usage reports it: as much as the
 * hold covered. With less, a client could be disconnected, or disconnect itself, and repeatedly avoid paying for it.
 */
export function usedByTools(
  target: Pick<CostTarget, 'provider' | 'upstreamModelName' | 'model'>,
  facts: RequestFacts,
  reading: UsageReading | undefined,
): Meters | undefined {
  const { toolUses = 0, outputTextBytes = 0 } = reading ?? {}
  if (toolUses === 0) return undefined
  const { provider, upstreamModelName } = target
  const all = toolRounds(facts, { providerKind: provider.kind, upstreamModelName }, windowTokensOf(target))
  const used = all.upTo(toolUses)
  const asked = likelyTextTokens(facts)
  return {
    input: used.tokensAfter(asked + Math.ceil(outputTextBytes / 4)),
    ...(used.searches > 0 && { searches: used.searches }),
  }
}

type Asked = Pick<CostTarget, 'model' | 'provider' | 'upstreamModelName'>

/**
 * The most text that an exchange reads and writes, including the context that it continues from: a request that
 * continues from it reads all of that.
 */
export function tokensAtMost(target: Asked, facts: RequestFacts): Meters {
  const input = Math.min(windowTokensOf(target), facts.textTokens?.most ?? facts.textBytes)
  return addMeters({ input, output: outputCap(target, facts) * facts.candidates }, facts.context)
}

/** The tokens with which an exchange counts against the limits of its key, before they are known. */
export function expectedTokens(target: Asked, facts: RequestFacts): number {
  const input = likelyTextTokens(facts)
  return tokensOf(addMeters({ input, output: outputCap(target, facts) * facts.candidates }, facts.context))
}
