import { matchesPattern, type Config, type ModelConfig, type ModelNames } from '../config/config.ts'

/** A name from a client, and the model that it names. */
export interface ResolvedModel {
  readonly entry: ModelConfig
  /** The name that is priced, listed and checked against allow-lists: an alias' target. */
  readonly canonicalName: string
  /** The model's name at the provider. */
  readonly upstreamName: string
}

type Models = ModelNames & Partial<Pick<Config, 'providers'>>

/**
 * Finds a model's config entry by the name from a client: exact, then alias, then pattern, then as the only existing
 * `<provider>/<name>`.
 */
export class ModelDirectory {
  readonly #config: Models
  #byOwnName: ReadonlyMap<string, readonly ModelConfig[]> | undefined

  constructor(config: Models) {
    this.#config = config
  }

  /**
   * The models that providers have under a name of their own, such as `groq/llama-3.3-70b-versatile` under
   * `llama-3.3-70b-versatile`: those of enabled providers, if any is enabled.
   */
  offersOf(name: string): readonly ModelConfig[] {
    this.#byOwnName ??= Map.groupBy(
      [...this.#config.models.values()].filter(entry => ownName(entry) !== entry.name),
      ownName,
    )
    const offers = this.#byOwnName.get(name) ?? []
    const { providers } = this.#config
    const on = offers.filter(entry => entry.providers.some(one => providers?.get(one)?.isOff === false))
    return on.length > 0 ? on : offers
  }

  /**
   * @param providerName the provider in the path, which then must have the model
   * @returns undefined if no entry matches
   */
  resolve(name: string, providerName: string | undefined): ResolvedModel | undefined {
    if (providerName === undefined) return this.#resolveName(name, name) ?? this.#resolveOffer(name)
    const prefixed = `${providerName}/${name}`
    const own = this.#resolveName(prefixed, name)
    // A pattern such as `*` matches any prefix and says nothing about this provider.
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

  /** The existing names, including known names of patterns, of enabled providers. */
  servedNames(): readonly string[] {
    const { models, modelPatterns, aliases, providers } = this.#config
    const isOn = (entry: ModelConfig | undefined): boolean =>
      entry?.providers.some(one => providers?.get(one)?.isOff === false) === true
    return [
      ...[...models.values()].filter(isOn).map(({ name }) => name),
      ...[...aliases.keys()].filter(name => isOn(this.#resolveName(name, name)?.entry)),
      ...modelPatterns.filter(isOn).flatMap(({ names = [] }) => names),
    ]
  }

  /** A bare model name belongs to its provider, unless two providers have it. */
  #resolveOffer(name: string): ResolvedModel | undefined {
    const [entry, ...others] = this.offersOf(name)
    return entry === undefined || others.length > 0 ? undefined : resolved(entry, entry.name, entry.name)
  }

  #matchPattern(name: string): ModelConfig | undefined {
    // The config has the most specific pattern first.
    const entry = this.#config.modelPatterns.find(one => matchesPattern(one.name, name))
    return entry === undefined || this.#isOffSale(name, entry) ? undefined : entry
  }

  /** The more specific of two patterns applies, even if it takes the model off sale. */
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

function ownName({ name, providers }: ModelConfig): string {
  const provider = providers.find(one => name.startsWith(`${one}/`))
  return provider === undefined ? name : name.slice(provider.length + 1)
}

/** The entry `groq/llama-3.3` of the provider groq is `llama-3.3` at groq; OpenRouter's `openai/gpt-5` stays. */
function withoutOwnProvider(entry: ModelConfig, name: string): string {
  const prefix = `${entry.providers[0]}/`
  return entry.name.startsWith(prefix) && name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/**
 * Whether an entry of an allow-list can ever cover a model: a name that a client may send for one, or a prefix of such
 * names followed by `*`.
 */
export function standsForModel(config: ModelNames, entry: string): boolean {
  if (!entry.endsWith('*')) {
    const directory = new ModelDirectory(config)
    const providers = [...config.models.values(), ...config.modelPatterns].flatMap(model => model.providers)
    return [undefined, ...new Set(providers)].some(
      provider => directory.resolve(entry, provider) !== undefined,
    )
  }
  const beginning = entry.slice(0, -1)
  const names = [...config.aliases.keys(), ...[...config.models.values()].flatMap(sentNames)]
  const patterns = config.modelPatterns.flatMap(sentNames).map(pattern => pattern.split('*', 1)[0] ?? '')
  return (
    names.some(name => name.startsWith(beginning)) ||
    patterns.some(own => own.startsWith(beginning) || beginning.startsWith(own))
  )
}

/** Under a provider's path its models have their own names. */
function sentNames({ name, providers }: ModelConfig): readonly string[] {
  const own = providers.filter(provider => name.startsWith(`${provider}/`))
  return [name, ...own.map(provider => name.slice(provider.length + 1))]
}
