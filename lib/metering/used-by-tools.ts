import type { RequestFacts } from '../dialects/dialect.ts'
import type { Meters, UsageReading } from '../money/usage.ts'
import { windowTokensOf, type CostTarget } from './exchange-cost.ts'
import { toolRounds } from './tool-rounds.ts'

/**
 * What a response may have read by the uses of tools that it told of, where no usage tells: as much as was held for
 * them. Less would let a client be cut, or leave, and pay for none of it again and again.
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
  const asked = facts.textTokens?.likely ?? Math.ceil(facts.textBytes / 4)
  return {
    input: used.tokensAfter(asked + Math.ceil(outputTextBytes / 4)),
    ...(used.searches > 0 && { searches: used.searches }),
  }
}
