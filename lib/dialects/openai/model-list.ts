import { requireModel } from '../require-model.ts'

/** `{object: "list", data: [...]}`, or one model. @throws GatewayError model_not_found */
export function openaiModelList(models: readonly string[], only: string | undefined): unknown {
  if (only === undefined) return { object: 'list', data: models.map(model) }
  requireModel(models, only)
  return model(only)
}

function model(id: string): unknown {
  return { id, object: 'model', created: 0, owned_by: 'gateway' }
}
