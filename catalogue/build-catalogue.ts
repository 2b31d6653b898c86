import { isDeepStrictEqual } from 'node:util'
import { genaiPrices } from '../lib/prices/genai-prices.ts'
import type { ListPrice } from '../lib/prices/list-price.ts'
import type { FamilyFacts, OwnData, OwnProvider } from './own-data.ts'
import { findSourceModel, sourceModels } from './source-models.ts'
import type { SourceModel } from './source-models.ts'
import { matchesPattern } from '../lib/config/config.ts'

/** An entry of the catalogue as written: a model, or the name of the model that it is like. */
type CatalogueEntry = WholeEntry | LikeEntry

interface LikeEntry {
  readonly like: string
  readonly names?: readonly string[]
}

interface WholeEntry extends ListPrice {
  readonly provider: string
  names?: string[]
  readonly contextTokensMax: number
  readonly outputTokensMax?: number
  readonly modalities: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly capabilities: readonly string[]
  readonly prices?: readonly ListPrice[]
}

/** By provider, then by name. */
export type Catalogue = ReadonlyMap<string, ReadonlyMap<string, CatalogueEntry>>

/**
 * Every model of the shipped providers, with its properties and list price.
 * @throws Error for a model without a context window
 */
export function buildCatalogue(own: OwnData): Catalogue {
  return new Map(
    Object.entries(own.providers).map(([provider, how]) => [
      provider,
      new ProviderCatalogue(provider, how, own).build(),
    ]),
  )
}

const dateOrStar = /\*|-(?:20\d\d-?\d\d-?\d\d|\d{4})$/

class ProviderCatalogue {
  readonly #provider: string
  readonly #how: OwnProvider
  readonly #own: OwnData
  readonly #source: readonly SourceModel[]
  readonly #entries = new Map<string, WholeEntry>()
  /** Entries that name the model whose price they share. */
  readonly #likes = new Map<string, string>()

  constructor(provider: string, how: OwnProvider, own: OwnData) {
    this.#provider = provider
    this.#how = how
    this.#own = own
    this.#source = how.source === undefined ? [] : sourceModels(how.source)
  }

  build(): ReadonlyMap<string, CatalogueEntry> {
    for (const name of this.#own.names[this.#provider] ?? []) this.#addNamed(name)
    for (const model of this.#source) this.#addFromSource(model)
    for (const { name, like, later = [], ...price } of this.#own.models[this.#provider] ?? []) {
      if (like === undefined) this.#addWithDates(name, undefined, [price, ...later])
      else this.#addLike(name, like)
    }
    const inOrder = [...this.#entries].toSorted(([one], [other]) => (one < other ? -1 : 1))
    return new Map(inOrder.map(([name, entry]) => [name, this.#written(name, entry)]))
  }

  /** A dated name refers only to its model, so that settings of that model apply to it too. */
  #written(name: string, { names, ...entry }: WholeEntry): CatalogueEntry {
    const base = this.#likes.get(name) ?? this.#datedFrom(name)
    const { names: _names, ...other } = this.#entries.get(base ?? '') ?? {}
    if (base === undefined || !isDeepStrictEqual(entry, other))
      return { ...entry, ...(names !== undefined && { names }) }
    return { like: base, ...(names !== undefined && { names }) }
  }

  /** The model whose name is the prefix of a pattern or a dated name. */
  #datedFrom(name: string): string | undefined {
    const [beginning] = name.split(dateOrStar)
    if (beginning === undefined || beginning === name) return undefined
    const bases = [...this.#entries.keys()].filter(
      one => !one.includes('*') && (beginning === one || beginning.startsWith(`${one}-`)),
    )
    return bases.toSorted((one, other) => other.length - one.length)[0]
  }

  #addLike(name: string, like: string): void {
    const full = this.#fullName(like)
    const base = this.#entries.has(full) ? full : this.#coveringPattern(full)
    const other = base === undefined ? undefined : this.#entries.get(base)
    if (base === undefined || other === undefined) {
      throw new Error(`${this.#provider} ${name}: there is no model ${like} for like`)
    }
    const { names: _names, ...entry } = other
    for (const one of [name, ...(this.#how.dated ?? []).map(ending => name + ending)]) {
      this.#likes.set(this.#fullName(one), base)
      this.#entries.set(this.#fullName(one), entry)
    }
  }

  /** Adds a name that the source may lack. */
  #addNamed(name: string): void {
    const bare = name.startsWith(`${this.#provider}/`) ? name.slice(this.#provider.length + 1) : name
    const source = findSourceModel(this.#source, bare)
    const versions = source === undefined ? [{}] : genaiPrices(source.info.prices)
    this.#add(bare, source, versions)
  }

  #addFromSource(model: SourceModel): void {
    const { deprecated, context_window: window, prices } = model.info
    const versions = genaiPrices(prices)
    const isPriced = versions.every(one => one.usdPerMillion !== undefined || one.usdPerUnit !== undefined)
    if (deprecated === true || !isPriced) return
    if (this.#how.needsContext === true && window === undefined) return
    const names = model.names.filter(name => !this.#isLeftOut(name))
    const isDated = (name: string): boolean => dateOrStar.test(name) && !name.includes('*')
    for (const name of names) {
      if (!isDated(name) && !this.#isCovered(name, model, versions)) this.#addWithDates(name, model, versions)
    }
    for (const name of names) {
      if (!this.#isCovered(name, model, versions)) this.#add(name, model, versions)
    }
  }

  /** Adds the patterns of its future dated names too, because providers add dated names without notice. */
  #addWithDates(name: string, model: SourceModel | undefined, versions: readonly ListPrice[]): void {
    this.#add(name, model, versions)
    for (const ending of this.#how.dated ?? []) {
      const isFixed = /-(?:latest|preview.*)$/.test(name)
      const dated = this.#fullName(name + ending)
      if (!isFixed && !this.#entries.has(dated))
        this.#entries.set(dated, this.#entryOf(name, model, versions))
    }
  }

  #add(name: string, model: SourceModel | undefined, versions: readonly ListPrice[]): void {
    this.#entries.set(this.#fullName(name), this.#entryOf(name, model, versions))
  }

  #entryOf(name: string, model: SourceModel | undefined, versions: readonly ListPrice[]): WholeEntry {
    const { factors, usdPerMillion, usdPerUnit, above } = this.#family(name)
    const hasFactors = factors && Object.keys(factors).length > 0
    const priced = versions.map(price => ({
      ...(above && { above }),
      ...price,
      ...(hasFactors && { factors }),
      ...(usdPerMillion && { usdPerMillion: { ...price.usdPerMillion, ...usdPerMillion } }),
      ...(usdPerUnit && { usdPerUnit: { ...price.usdPerUnit, ...usdPerUnit } }),
    }))
    const [first, ...later] = priced
    const isDatedFromStart = first?.from !== undefined
    return {
      ...this.#facts(name, model),
      ...(!isDatedFromStart && first),
      ...((isDatedFromStart || later.length > 0) && { prices: isDatedFromStart ? priced : later }),
    }
  }

  /** Lists a name with a pattern, when the pattern's entry is equal. */
  #isCovered(name: string, model: SourceModel, versions: readonly ListPrice[]): boolean {
    const full = this.#fullName(name)
    if (this.#entries.has(full)) return true
    const pattern = this.#coveringPattern(full)
    const entry = pattern === undefined ? undefined : this.#entries.get(pattern)
    if (entry === undefined) return false
    const { names: _names, ...covering } = entry
    if (!isDeepStrictEqual(covering, this.#entryOf(name, model, versions))) return false
    entry.names = [...new Set([...(entry.names ?? []), full])].toSorted()
    return true
  }

  /** The most specific matching pattern. */
  #coveringPattern(name: string): string | undefined {
    const patterns = [...this.#entries.keys()].filter(one => one.includes('*') && matchesPattern(one, name))
    return patterns.toSorted((one, other) => other.length - one.length)[0]
  }

  #fullName(name: string): string {
    return this.#how.isPrefixed === true ? `${this.#provider}/${name}` : name
  }

  #isLeftOut(name: string): boolean {
    return (this.#how.leaveOut ?? []).some(pattern => matchesPattern(pattern, name))
  }

  #family(name: string): FamilyFacts {
    const sample = name.replaceAll('*', '')
    let facts: FamilyFacts = {}
    for (const { names, ...family } of this.#own.families[this.#provider] ?? []) {
      if (names.some(pattern => matchesPattern(pattern, sample) || pattern === name)) {
        const { factors, usdPerMillion } = facts
        facts = {
          ...facts,
          ...family,
          ...(family.factors && factors && { factors: { ...factors, ...family.factors } }),
          ...(family.usdPerMillion && { usdPerMillion: { ...usdPerMillion, ...family.usdPerMillion } }),
        }
      }
    }
    return facts
  }

  #facts(name: string, model: SourceModel | undefined): WholeEntry {
    const { contextTokensMax, outputTokensMax, input, output, capabilities } = this.#family(name)
    const window = this.#window(name.replaceAll('*', '')) ?? model?.info.context_window ?? contextTokensMax
    if (window === undefined || input === undefined || output === undefined) {
      throw new Error(`${this.#provider} ${name}: catalogue/own.yaml has no context window or modalities`)
    }
    // A model without a known cap can write up to its window.
    const cap = outputTokensMax === undefined ? window : outputTokensMax
    return {
      provider: this.#provider,
      contextTokensMax: window,
      ...(cap !== null && { outputTokensMax: Math.min(cap, window) }),
      modalities: { input, output },
      capabilities: capabilities ?? [],
    }
  }

  #window(name: string): number | undefined {
    const rules = Object.entries(this.#own.windows[this.#provider] ?? {})
    return rules.findLast(([pattern]) => matchesPattern(pattern, name))?.[1]
  }
}
