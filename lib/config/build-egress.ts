import type { EgressChoice, ProviderConfig } from './config.ts'
import type { Problems } from './problems.ts'
import type { ProviderInput } from './schema.ts'

interface EgressContext {
  readonly problems: Problems
  readonly egressNames: readonly string[]
}

const direct: readonly EgressChoice[] = [{ name: 'direct', weight: 1 }]

/**
 * A provider's ways out. With proxies at the top level each provider says its own, so that none goes out
 * directly by an oversight; the sandbox never leaves the process.
 */
export function buildEgress(
  name: string,
  input: ProviderInput,
  { isOff, dialects }: Pick<ProviderConfig, 'isOff' | 'dialects'>,
  { problems, egressNames }: EgressContext,
): readonly EgressChoice[] {
  if (input.egress === undefined) {
    const isInside = (input.like ?? name) === 'sandbox'
    if (egressNames.length > 0 && !isOff && !isInside) {
      problems.add(
        ['providers', name, 'egress'],
        'is missing: with a top-level egress every provider names its own, or egress: [direct]',
      )
    }
    return direct
  }
  const choices = input.egress.map((choice): EgressChoice =>
    typeof choice === 'string'
      ? { name: choice, weight: 1 }
      : { name: choice.name, weight: choice.weight ?? 1 },
  )
  const seen = new Set<string>()
  for (const [index, choice] of choices.entries()) {
    const path = ['providers', name, 'egress', index]
    if (choice.name !== 'direct' && !egressNames.includes(choice.name)) {
      problems.addUnknown(path, 'egress', choice.name, ['direct', ...egressNames])
    } else if (seen.has(choice.name)) {
      problems.add(path, `"${choice.name}" is there twice; give it a weight instead`)
    } else if (choice.name !== 'direct' && isPlain(dialects)) {
      problems.add(path, 'a base URL with http: is on this machine; it goes out by direct only')
    }
    seen.add(choice.name)
  }
  return choices
}

/** Through a proxy the key of the provider would pass in the clear. */
function isPlain(dialects: ProviderConfig['dialects']): boolean {
  return Object.values(dialects).some(({ baseUrl }) => baseUrl.protocol === 'http:')
}
