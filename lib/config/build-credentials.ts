import type { Credential, ProviderTimeouts } from './config.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import type { ProviderInput } from './schema.ts'

/** A credential whose variable is missing has become undefined; it is no error, only not there. */
export function dropMissingCredentials(value: unknown): unknown {
  if (!isMapping(value) || !Array.isArray(value['credentials'])) return value
  return { ...value, credentials: value['credentials'].map(trimmed).filter(item => item !== undefined) }
}

/** Secrets read from files often end with a line feed, which no header may hold. */
function trimmed(credential: unknown): unknown {
  if (typeof credential === 'string') return credential.trim()
  if (!isMapping(credential) || !('value' in credential)) return credential
  const value = trimmed(credential['value'])
  return value === undefined ? undefined : { ...credential, value }
}

/**
 * The credentials of a provider, by their names where they have any, else numbered as written, so that a name
 * stays when another credential's variable goes missing.
 * @param written the provider's entry before the missing ones were dropped from it
 */
export function buildCredentials(
  provider: string,
  written: unknown,
  { input, timeouts, problems }: CredentialContext,
): Credential[] {
  if (!isMapping(written) || !Array.isArray(written['credentials'])) return []
  const parsed = [...(input.credentials ?? [])]
  const names = new Set<string>()
  return written['credentials'].flatMap((item: unknown, index): Credential[] => {
    const one = trimmed(item) === undefined ? undefined : parsed.shift()
    if (one === undefined) return []
    if (typeof one === 'string') return [{ name: `${provider}#${index + 1}`, value: one }]
    const name = `${provider}#${one.name ?? index + 1}`
    if (names.has(name))
      problems.add(['providers', provider, 'credentials', index, 'name'], 'is the name of another one')
    names.add(name)
    const { value, weight = 1 } = one
    const own = one.timeouts === undefined ? {} : { timeouts: laidOver(timeouts, one.timeouts) }
    return [{ name, value, weight, ...own }]
  })
}

interface CredentialContext {
  readonly input: ProviderInput
  /** The provider's, under those of its credentials. */
  readonly timeouts: ProviderTimeouts
  readonly problems: Problems
}

/** Defaults under the values that are given. */
export function laidOver<T extends object>(
  defaults: T,
  given: { [K in keyof T]?: T[K] | undefined } = {},
): T {
  const values = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(values) }
}
