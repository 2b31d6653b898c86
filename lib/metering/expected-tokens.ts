import type { RequestFacts } from '../dialects/dialect.ts'
import { addMeters, tokensOf, type Meters } from '../money/usage.ts'
import { windowTokensOf, type CostTarget } from './exchange-cost.ts'
import { outputCap } from './output-cap.ts'

type Asked = Pick<CostTarget, 'model' | 'provider' | 'upstreamModelName'>

/** The most text that an exchange reads and writes, and what it goes on from: what goes on from it reads all that. */
export function tokensAtMost(target: Asked, facts: RequestFacts): Meters {
  const input = Math.min(windowTokensOf(target), facts.textTokens?.most ?? facts.textBytes)
  return addMeters({ input, output: outputCap(target, facts) * facts.candidates }, facts.context)
}

/** The tokens that an exchange counts as against the limits of its key, before they are known. */
export function expectedTokens(target: Asked, facts: RequestFacts): number {
  const input = facts.textTokens?.likely ?? Math.ceil(facts.textBytes / 4)
  return tokensOf(addMeters({ input, output: outputCap(target, facts) * facts.candidates }, facts.context))
}
