import { findProvider } from '@pydantic/genai-prices'
import type { MatchLogic, ModelInfo } from '@pydantic/genai-prices'

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
  return provider.models.map(info => {
    const own = isMatch(info.match, info.id) ? [info.id] : []
    return { info, names: [...new Set([...own, ...exactNames(info.match)])] }
  })
}

/** Whether the source counts a name as a model. */
export function isMatch(logic: MatchLogic, name: string): boolean {
  if ('and' in logic) return logic.and.every(one => isMatch(one, name))
  if ('or' in logic) return logic.or.some(one => isMatch(one, name))
  if ('equals' in logic) return name === logic.equals
  if ('starts_with' in logic) return name.startsWith(logic.starts_with)
  if ('ends_with' in logic) return name.endsWith(logic.ends_with)
  if ('contains' in logic) return name.includes(logic.contains)
  return new RegExp(logic.regex).test(name)
}

function exactNames(logic: MatchLogic): readonly string[] {
  if ('or' in logic) return logic.or.flatMap(exactNames)
  return 'equals' in logic ? [logic.equals] : []
}
