import { requireModel } from '../require-model.ts'

/** `{models: [...]}`, or one model; names have the prefix `models/`. @throws GatewayError model_not_found */
export function googleModelList(models: readonly string[], only: string | undefined): unknown {
  if (only === undefined) return { models: models.map(model) }
  requireModel(models, only)
  return model(only)
}

function model(id: string): unknown {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  }
}
