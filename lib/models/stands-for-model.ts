import type { ModelConfig, ModelNames } from '../config/config.ts'
import { ModelDirectory } from './model-directory.ts'

/**
 * Whether an entry of an allow-list can ever cover a model: a name that a client may send for one, or a
 * beginning of such names with `*` after it.
 */
export function standsForModel(config: ModelNames, entry: string): boolean {
  if (!entry.endsWith('*')) {
    const directory = new ModelDirectory(config)
    const providers = [...config.models.values(), ...config.modelPatterns].flatMap(model => model.providers)
    return [undefined, ...new Set(providers)].some(
      provider => directory.resolve(entry, provider) !== undefined,
    )
  }
  const beginning = entry.slice(0, -1)
  const names = [...config.aliases.keys(), ...[...config.models.values()].flatMap(sentNames)]
  const patterns = config.modelPatterns.flatMap(sentNames).map(pattern => pattern.split('*', 1)[0] ?? '')
  return (
    names.some(name => name.startsWith(beginning)) ||
    patterns.some(own => own.startsWith(beginning) || beginning.startsWith(own))
  )
}

/** Below a provider's path its models go by their own names. */
function sentNames({ name, providers }: ModelConfig): readonly string[] {
  const own = providers.filter(provider => name.startsWith(`${provider}/`))
  return [name, ...own.map(provider => name.slice(provider.length + 1))]
}
