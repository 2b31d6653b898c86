import type { Config, ModelConfig } from '../config/config.ts'

/** Whether a provider that has a model is on. */
export function isServed({ providers }: Config, model: ModelConfig): boolean {
  return model.providers.some(name => providers.get(name)?.isOff === false)
}
