import { findProvider } from '@pydantic/genai-prices'
import type { ModelInfo } from '@pydantic/genai-prices'
import { exactNames, isMatch } from '../lib/prices/genai-prices.ts'

/** A model of the catalogue's source. */
export interface SourceModel {
  readonly info: ModelInfo
  /** The names under which it can be requested. */
  readonly names: readonly string[]
}

/**
 * A provider's models.
 * @throws Error when the source does not have the provider
 */
export function sourceModels(id: string): readonly SourceModel[] {
  const provider = findProvider({ providerId: id })
  if (provider === undefined) throw new Error(`@pydantic/genai-prices has no provider ${id}`)
  return provider.models.map(info => ({ info, names: exactNames(info) }))
}

/** The source's model for a name, or for the prefix of a pattern. */
export function findSourceModel(models: readonly SourceModel[], name: string): SourceModel | undefined {
  const beginning = name.replace(/(?:-?(?:preview-)?(?:20|0)?)\*.*$/, '')
  const exact = (one: string) => models.find(model => model.names.includes(one))
  const matching = (one: string) => models.find(({ info }) => isMatch(info.match, one))
  return (
    exact(name) ?? exact(beginning) ?? matching(name) ?? exact(`${beginning}-latest`) ?? matching(beginning)
  )
}
