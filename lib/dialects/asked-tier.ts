import { isPlainTier, tierName } from '../money/consumed-cost.ts'
import { knownProvider } from '../providers/known-providers.ts'
import type { UsageReaderContext } from './dialect.ts'

/** The provider's choice, and what was bought ahead. */
const noMore: ReadonlySet<string> = new Set(['auto', 'scale'])

/** What OpenAI, xAI, Groq and Mistral call the tier that is not special, in responses. */
const standardTiers: ReadonlySet<string> = new Set(['', 'default', 'standard', 'auto', 'on_demand'])

/** Whether a tier that a response names is the usual one. */
export function isStandardTier(served: string): boolean {
  return standardTiers.has(tierName(served))
}

/** Whether a provider may charge more for a tier, as it is asked for. One that nobody knows here may cost any number of times as much. */
export function mayCostMore(asked: string, providerKind: string): boolean {
  const name = tierName(asked)
  return knownProvider(providerKind).sellsTiers === true && !isPlainTier(name) && !noMore.has(name)
}

/**
 * What is charged where a response names no tier: what was asked for, if that may cost more. Whoever asked for less may
 * not have got it.
 */
export function tierUnnamed({
  facts: { wantedTier = '' },
  providerKind,
}: Pick<UsageReaderContext, 'facts' | 'providerKind'>): string | undefined {
  const names = wantedTier.split('+').filter(name => mayCostMore(name, providerKind))
  return names.length === 0 ? undefined : names.map(tierName).join('+')
}
