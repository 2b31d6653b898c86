import type { Config, ProviderConfig } from './config.ts'

type Shown = Pick<ProviderConfig, 'name' | 'isPublic'>

/** The name of a provider as customers see it; undefined where the provider is not public. */
export function shownProvider(config: Pick<Config, 'providers'>, name: string): string | undefined {
  return config.providers.get(name)?.isPublic === true ? name : undefined
}

/** What a sentence for customers calls a provider: `openai`, or `the provider`. */
export function toldProvider({ name, isPublic }: Shown): string {
  return isPublic ? name : 'the provider'
}

/** The same at the beginning of a sentence. */
export function toldProviderFirst({ name, isPublic }: Shown): string {
  return isPublic ? name : 'The provider'
}
