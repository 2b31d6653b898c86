import { matchesPattern } from '../lib/config/matches-pattern.ts'
import { listPrices } from './list-price.ts'
import type { ListPrice } from './list-price.ts'
import type { FamilyFacts, OwnData, OwnProvider } from './own-data.ts'
import { isMatch, sourceModels } from './source-models.ts'
import type { SourceModel } from './source-models.ts'

/** An entry of `models` as `config/models.yaml` writes it. */
export interface WrittenModel {
  readonly provider?: string | readonly string[]
  readonly alias?: string
}

/** An entry of the catalogue, as it is written. */
export interface CatalogueEntry extends ListPrice {
  readonly provider: string
  names?: string[]
  readonly contextTokensMax: number
  readonly outputTokensMax?: number
  readonly modalities: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly capabilities: readonly string[]
  readonly factors?: Readonly<Record<string, string>>
  readonly prices?: readonly ListPrice[]
}

/** By provider, then by name. */
export type Catalogue = ReadonlyMap<string, ReadonlyMap<string, CatalogueEntry>>

/**
 * Every model of the shipped providers: those that have a price in roubles, with what they are, and the
 * source's others with their list prices.
 * @throws Error for a model without a context window
 */
export function buildCatalogue(own: OwnData, written: Readonly<Record<string, WrittenModel>>): Catalogue {
  return new Map(
    Object.entries(own.providers).map(([provider, how]) => [
      provider,
      new ProviderCatalogue(provider, how, own, written).build(),
    ]),
  )
}

class ProviderCatalogue {
  readonly #provider: string
  readonly #how: OwnProvider
  readonly #own: OwnData
  readonly #written: Readonly<Record<string, WrittenModel>>
  readonly #source: readonly SourceModel[]
  readonly #entries = new Map<string, CatalogueEntry>()

  constructor(
    provider: string,
    how: OwnProvider,
    own: OwnData,
    written: Readonly<Record<string, WrittenModel>>,
  ) {
    this.#provider = provider
    this.#how = how
    this.#own = own
    this.#written = written
    this.#source = how.source === undefined ? [] : sourceModels(how.source)
  }

  build(): ReadonlyMap<string, CatalogueEntry> {
    for (const [name, { provider }] of Object.entries(this.#written)) {
      if ([provider].flat()[0] === this.#provider) this.#addPriced(name)
    }
    for (const model of this.#source) this.#addFromSource(model)
    for (const { name, like, ...price } of this.#own.models[this.#provider] ?? []) {
      const source = like === undefined ? undefined : this.#find(like)
      this.#addWithDates(name, source, source === undefined ? [price] : listPrices(source.info.prices))
    }
    const inOrder = [...this.#entries].toSorted(([one], [other]) => (one < other ? -1 : 1))
    return new Map(inOrder)
  }

  /** What has a price in roubles gets its facts, and its list price beside. */
  #addPriced(name: string): void {
    const bare = name.startsWith(`${this.#provider}/`) ? name.slice(this.#provider.length + 1) : name
    const source = this.#find(bare)
    const { from: _from, above: _above, ...price } = latest(source)
    this.#entries.set(name, { ...this.#facts(bare, source), ...price })
  }

  #addFromSource(model: SourceModel): void {
    const { deprecated, context_window: window, prices } = model.info
    const versions = listPrices(prices)
    const isPriced = versions.every(one => one.usdPerMillion !== undefined || one.usdPerUnit !== undefined)
    if (deprecated === true || !isPriced) return
    if (this.#how.needsContext === true && window === undefined) return
    const names = model.names.filter(name => !this.#isLeftOut(name))
    const isDated = (name: string): boolean => /-(?:20\d\d-?\d\d-?\d\d|\d{4})$/.test(name)
    for (const name of names) {
      if (!this.#isCovered(name) && !isDated(name)) this.#addWithDates(name, model, versions)
    }
    for (const name of names) {
      if (!this.#isCovered(name)) this.#add(name, model, versions)
    }
  }

  /** With its dated names to come, which the provider adds without a word. */
  #addWithDates(name: string, model: SourceModel | undefined, versions: readonly ListPrice[]): void {
    this.#add(name, model, versions)
    for (const ending of this.#how.dated ?? []) {
      const isFixed = /-(?:latest|preview.*)$/.test(name)
      if (!isFixed && this.#entries.get(name + ending) === undefined)
        this.#add(name + ending, model, versions)
    }
  }

  #add(name: string, model: SourceModel | undefined, versions: readonly ListPrice[]): void {
    const { factors, usdPerMillion, usdPerUnit } = this.#family(name)
    const priced = versions.map(price => ({
      ...price,
      ...(usdPerMillion && { usdPerMillion: { ...price.usdPerMillion, ...usdPerMillion } }),
      ...(usdPerUnit && { usdPerUnit: { ...price.usdPerUnit, ...usdPerUnit } }),
    }))
    const [first, ...later] = priced
    const isDatedFromStart = first?.from !== undefined
    this.#entries.set(this.#how.isPrefixed === true ? `${this.#provider}/${name}` : name, {
      ...this.#facts(name, model),
      ...(!isDatedFromStart && first),
      ...(factors && Object.keys(factors).length > 0 && { factors }),
      ...((isDatedFromStart || later.length > 0) && { prices: isDatedFromStart ? priced : later }),
    })
  }

  /** A name that an entry of `models.yaml` or of the catalogue covers is listed with it. */
  #isCovered(name: string): boolean {
    const full = this.#how.isPrefixed === true ? `${this.#provider}/${name}` : name
    if (this.#entries.has(full) || Object.hasOwn(this.#written, full)) return true
    const patterns = [...this.#entries.keys()].filter(one => one.includes('*') && matchesPattern(one, full))
    const [pattern] = patterns.toSorted((one, other) => other.length - one.length)
    const entry = pattern === undefined ? undefined : this.#entries.get(pattern)
    if (entry === undefined) return false
    entry.names = [...new Set([...(entry.names ?? []), full])].toSorted()
    return true
  }

  #isLeftOut(name: string): boolean {
    return (this.#how.leaveOut ?? []).some(pattern => matchesPattern(pattern, name))
  }

  /** The source's model of a name, or of what a pattern begins with. */
  #find(name: string): SourceModel | undefined {
    const beginning = name.replace(/(?:-?(?:preview-)?(?:20|0)?)\*.*$/, '')
    for (const one of [name, beginning, `${beginning}-latest`]) {
      const found = this.#source.find(model => model.names.includes(one) || isMatch(model.info.match, one))
      if (found !== undefined) return found
    }
    return undefined
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

  #facts(name: string, model: SourceModel | undefined): CatalogueEntry {
    const { contextTokensMax, outputTokensMax, input, output, capabilities } = this.#family(name)
    const window = this.#window(name.replaceAll('*', '')) ?? model?.info.context_window ?? contextTokensMax
    if (window === undefined || input === undefined || output === undefined) {
      throw new Error(`${this.#provider} ${name}: catalogue/own.yaml says no context window or modalities`)
    }
    // What nobody knows the cap of writes at most its window.
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

/** The price from the last date on. */
function latest(source: SourceModel | undefined): ListPrice {
  return source === undefined ? {} : (listPrices(source.info.prices).at(-1) ?? {})
}
