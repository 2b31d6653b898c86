import type { Config } from '../../../config/config.ts'
import type { DialectName } from '../../../dialects/dialect.ts'
import { ModelDirectory } from '../../../models/model-directory.ts'

/** Names that people know, the best first; used where the config has them. */
const known = {
  openai: ['gpt-5-mini', 'gpt-5', 'gpt-4.1-mini', 'gpt-4o-mini'],
  anthropic: ['claude-sonnet-4-5', 'claude-sonnet-5', 'claude-opus-4-5'],
  google: ['gemini-2.5-flash', 'gemini-2.5-pro'],
} satisfies Record<DialectName, readonly [string, ...string[]]>

/** A model that can be asked in a dialect as the config is; where there is none, one that might be. */
export function exampleModel(
  config: Config,
  dialect: DialectName,
  preferred: readonly string[] = known[dialect],
): string {
  const directory = new ModelDirectory(config)
  const isServed = (name: string): boolean => {
    const entry = directory.resolve(name, undefined)?.entry
    const isPriced = entry?.prices.some(price => price.rubPerMillion.output !== undefined) === true
    return isPriced && entry.providers.some(provider => isOn(config, provider, dialect))
  }
  const names = [...preferred, ...known[dialect], ...config.models.keys()]
  return names.find(isServed) ?? preferred[0] ?? known[dialect][0]
}

function isOn(config: Config, providerName: string, dialect: DialectName): boolean {
  const provider = config.providers.get(providerName)
  return provider !== undefined && !provider.isOff && provider.dialects[dialect] !== undefined
}
