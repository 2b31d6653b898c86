import type { Path } from './config-error.ts'
import { substitute } from './environment.ts'
import type { Environment } from './environment.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'

/** Puts variables in their places. Those of credentials may be missing: their providers are off. */
export function resolveVariables(merged: unknown, env: Environment, problems: Problems) {
  const { value, missing, malformed } = substitute(merged, env)
  const missingVariables = new Map<string, string[]>()
  for (const { path, text } of malformed) problems.add(path, `"${text}" names no variable; write \${NAME}`)
  for (const { path, name } of missing) {
    const provider = credentialOwner(path)
    if (provider === undefined) {
      problems.add(path, `the environment variable ${name} is not set`)
      problems.silence(path)
    } else {
      missingVariables.set(provider, [...(missingVariables.get(provider) ?? []), name])
    }
  }
  return { value: isMapping(value) ? value : {}, missingVariables }
}

/** The provider whose credential a path is: `providers.NAME.credentials[0]`. */
function credentialOwner([section, provider, key, index]: Path): string | undefined {
  return section === 'providers' && key === 'credentials' && index !== undefined
    ? String(provider)
    : undefined
}
