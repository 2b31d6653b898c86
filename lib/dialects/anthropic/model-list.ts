import { requireModel } from '../require-model.ts'

/** One page with all models, or one model. @throws GatewayError model_not_found */
export function anthropicModelList(models: readonly string[], only: string | undefined): unknown {
  if (only !== undefined) {
    requireModel(models, only)
    return model(only)
  }
  return {
    data: models.map(model),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }
}

function model(id: string): unknown {
  return { type: 'model', id, display_name: id, created_at: '1970-01-01T00:00:00Z' }
}
