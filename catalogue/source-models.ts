import { findProvider } from '@pydantic/genai-prices'
import type { ModelInfo } from '@pydantic/genai-prices'
import { exactNames } from '../lib/prices/genai-prices.ts'

/** A model of the catalogue's source. */
export interface SourceModel {
  readonly info: ModelInfo
  /** What it can be asked for by. */
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
