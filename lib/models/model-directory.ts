import type { Config, ModelConfig } from '../config/config.ts'

export interface ResolvedModel {
  readonly entry: ModelConfig
  /** The name that is priced, listed and checked against allow-lists: an alias' target. */
  readonly canonicalName: string
  /** The name the provider is asked for. */
  readonly upstreamName: string
}

/** Finds a model's config entry by the name a client sends: exact, then alias, then pattern. */
export class ModelDirectory {
  readonly #config: Config
  /** The most specific pattern first, so that `gpt-5-mini-*` wins over `gpt-*`. */
  readonly #patterns: readonly { readonly matches: RegExp; readonly entry: ModelConfig }[]

  constructor(config: Config) {
    this.#config = config
    this.#patterns = config.modelPatterns
      .toSorted((a, b) => b.name.length - a.name.length)
      .map(entry => ({ matches: patternExpression(entry.name), entry }))
  }

  /**
   * @param providerName the provider in the path, which then must have the model
   * @returns undefined when no entry fits
   */
  resolve(name: string, providerName: string | undefined): ResolvedModel | undefined {
    if (providerName === undefined) return this.#resolveName(name, name)
    const own = this.#config.models.get(`${providerName}/${name}`)
    if (own !== undefined) return resolved(own, own.name, name)
    const found = this.#resolveName(name, name)
    return found?.entry.providers.includes(providerName) === true ? found : undefined
  }

  #resolveName(name: string, requestedName: string): ResolvedModel | undefined {
    const exact = this.#config.models.get(name)
    if (exact !== undefined) return resolved(exact, name, requestedName)
    const target = this.#config.aliases.get(name)
    if (target !== undefined) {
      const entry = this.#config.models.get(target) ?? this.#matchPattern(target)
      return entry === undefined ? undefined : resolved(entry, target, target)
    }
    const entry = this.#matchPattern(name)
    return entry === undefined ? undefined : resolved(entry, name, requestedName)
  }

  #matchPattern(name: string): ModelConfig | undefined {
    return this.#patterns.find(pattern => pattern.matches.test(name))?.entry
  }
}

function resolved(entry: ModelConfig, canonicalName: string, requestedName: string): ResolvedModel {
  return {
    entry,
    canonicalName,
    upstreamName: entry.upstreamModel ?? withoutOwnProvider(entry, requestedName),
  }
}

/** The entry `groq/llama-3.3` of the provider groq is `llama-3.3` to groq; OpenRouter's `openai/gpt-5` stays. */
function withoutOwnProvider(entry: ModelConfig, name: string): string {
  const prefix = `${entry.providers[0]}/`
  return entry.name.startsWith(prefix) && name.startsWith(prefix) ? name.slice(prefix.length) : name
}

function patternExpression(pattern: string): RegExp {
  const literal = pattern.split('*').map(part => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${literal.join('.*')}$`, 's')
}
