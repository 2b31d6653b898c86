import { GatewayError } from '../pipeline/errors.ts'

/** @throws GatewayError model_not_found */
export function requireModel(models: readonly string[], id: string): void {
  if (models.includes(id)) return
  throw new GatewayError('model_not_found', `There is no model "${id}" here.`, { param: 'model' })
}
