import { isPlainTier, tierName } from '../money/consumed-cost.ts'
import { knownProvider } from '../providers/known-providers.ts'
import type { UsageReaderContext } from './dialect.ts'

/** `auto` is the provider's choice, `scale` is capacity bought in advance. */
const noMore: ReadonlySet<string> = new Set(['auto', 'scale'])

/** The names that OpenAI, xAI, Groq and Mistral use in responses for the standard tier. */
const standardTiers: ReadonlySet<string> = new Set(['', 'default', 'standard', 'auto', 'on_demand'])

/** Whether a tier that a response names is the standard one. */
export function isStandardTier(served: string): boolean {
  return standardTiers.has(tierName(served))
}

/**
 * Whether a provider may charge more for the requested tier. An unknown tier may cost any multiple of the standard
 * price.
 */
export function mayCostMore(asked: string, providerKind: string): boolean {
  const name = tierName(asked)
  return knownProvider(providerKind).sellsTiers === true && !isPlainTier(name) && !noMore.has(name)
}

/**
 * The tier to charge where a response names none: the requested one, if it may cost more. A requested cheaper tier is
 * not assumed, since the provider may not have granted it.
 */
export function tierUnnamed({
  facts: { wantedTier = '' },
  providerKind,
}: Pick<UsageReaderContext, 'facts' | 'providerKind'>): string | undefined {
  const names = wantedTier.split('+').filter(name => mayCostMore(name, providerKind))
  return names.length === 0 ? undefined : names.map(tierName).join('+')
}
