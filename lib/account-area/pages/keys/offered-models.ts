import type { Config } from '../../../config/config.ts'
import { ModelDirectory } from '../../../models/model-directory.ts'
import { standsForModel } from '../../../models/stands-for-model.ts'

/** The models that a key can be limited to, by the provider that comes first for them. */
export function offeredModels(config: Config): ReadonlyMap<string, readonly string[]> {
  const byProvider = new Map<string, string[]>()
  for (const { name, prices, providers } of config.models.values()) {
    const provider = providers.find(one => config.providers.get(one)?.isOff === false)
    if (provider === undefined || prices.length === 0) continue
    const names = byProvider.get(provider)
    if (names === undefined) byProvider.set(provider, [name])
    else names.push(name)
  }
  return byProvider
}

/** Whether a name, or a beginning with `*` after it, can ever stand for a model that has a price. */
export function isOffered(config: Config, name: string): boolean {
  const star = name.indexOf('*')
  if (star === -1) return (new ModelDirectory(config).resolve(name, undefined)?.entry.prices.length ?? 0) > 0
  return star === name.length - 1 && standsForModel(config, name)
}
