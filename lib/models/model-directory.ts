import type { ModelConfig, ModelNames } from '../config/config.ts'
import { matchesPattern } from '../config/matches-pattern.ts'

/** A name that a client sent, and what it stands for. */
export interface ResolvedModel {
  readonly entry: ModelConfig
  /** The name that is priced, listed and checked against allow-lists: an alias' target. */
  readonly canonicalName: string
  /** The name the provider is asked for. */
  readonly upstreamName: string
}

/** Finds a model's config entry by the name a client sends: exact, then alias, then pattern. */
export class ModelDirectory {
  readonly #config: ModelNames

  constructor(config: ModelNames) {
    this.#config = config
  }

  /**
   * @param providerName the provider in the path, which then must have the model
   * @returns undefined when no entry fits
   */
  resolve(name: string, providerName: string | undefined): ResolvedModel | undefined {
    if (providerName === undefined) return this.#resolveName(name, name)
    const prefixed = `${providerName}/${name}`
    const own = this.#resolveName(prefixed, name)
    // A pattern such as `*` fits any prefix and says nothing about this provider.
    if (own?.entry.name.startsWith(`${providerName}/`) === true || this.#config.aliases.has(prefixed))
      return own
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
    // The config has the most specific pattern first.
    const entry = this.#config.modelPatterns.find(one => matchesPattern(one.name, name))
    return entry === undefined || this.#isOffSale(name, entry) ? undefined : entry
  }

  /** The more specific of two patterns is right, also where it says that there is nothing. */
  #isOffSale(name: string, { name: pattern }: ModelConfig): boolean {
    return this.#config.offSale.some(
      one => one === name || (one.length > pattern.length && matchesPattern(one, name)),
    )
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
