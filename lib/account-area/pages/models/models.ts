import { html } from 'hono/html'
import { z } from 'zod'
import { count, exactRoubles, decimal, isoDay } from '../../../web/format.ts'
import { hiddenField, readQuery, says } from '../../../web/http/read-form.ts'
import type { PageResponse, Html, OwnPage, Page } from '../../page.ts'
import { cardTable } from '../../../web/view/data-table.ts'
import { field, formProblems } from '../../../web/view/form.ts'
import { emptyCard, titledPage } from '../../../web/view/layout.ts'
import { productOf } from '../../../money/decimal.ts'
import { type Price, priceInForce } from '../../../money/price.ts'
import { meters as allMeters, type Meter } from '../../../money/usage.ts'
import { shownProvider, type Config, type ModelConfig } from '../../../config/config.ts'
import { ModelDirectory } from '../../../models/model-directory.ts'
import { canonicalPrice } from '../../../money/pricing.ts'

const searchSchema = z.object({
  q: z.string().trim().max(100, says('tooLong')).default(''),
  provider: hiddenField(100),
})
type Search = z.output<typeof searchSchema>

/** With fewer models the choice of providers is not shown. */
const modelsBeforeChoice = 12

function matches({ name, provider, aliases }: PricedModel, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/)
  return words.every(word => [name, provider, ...aliases].some(one => one.toLowerCase().includes(word)))
}

/** The language in which prices are shown. */
type Words = Pick<Page, 'texts' | 'language'>

/** Meters with a column of their own. */
const mainMeters = ['input', 'cachedInput', 'output'] as const satisfies readonly Meter[]

function perMillion(
  { texts, language }: Words,
  rates: Price['rubPerMillion'],
  only = allMeters as readonly Meter[],
): string[] {
  const { meters, models } = texts
  return only.flatMap(meter => {
    const rub = rates[meter]
    return rub === undefined ? [] : [`${meters[meter]}: ${exactRoubles(rub, language)} ${models.unitOf}`]
  })
}

/** The name of a rate without its unit, which the context already gives. */
function short({ texts, language }: Words, rates: Price['rubPerMillion']): string {
  const { meters } = texts
  return allMeters
    .flatMap(meter => {
      const rub = rates[meter]
      return rub === undefined ? [] : [`${meters[meter].toLowerCase()} ${exactRoubles(rub, language)}`]
    })
    .join(', ')
}

function perUnit({ texts, language }: Words, rates: Price['rubPerUnit']): string[] {
  const { meters } = texts
  return Object.entries(rates).map(([name, rub]) => {
    const [meter = '', ...variant] = name.split('/')
    const label = Object.hasOwn(meters, meter) ? meters[meter as Meter] : meter
    return `${[label, ...variant].join(' ')}: ${exactRoubles(rub, language)}`
  })
}

function levels(words: Words, { above }: Price): string[] {
  const { models } = words.texts
  return above.map(({ inputTokens, mode, rubPerMillion }) => {
    const reach = mode === 'whole' ? models.whole : models.excess
    return `${reach(count(inputTokens, words.language))}: ${short(words, rubPerMillion)}`
  })
}

/** A factor alone is not clear enough, so the token prices with it are shown too. */
function tiers(words: Words, { factors, rubPerMillion }: Price): string[] {
  const { models } = words.texts
  return Object.entries(factors).map(([name, factor]) => {
    const label = Object.hasOwn(models.tiers, name)
      ? models.tiers[name as keyof typeof models.tiers]
      : models.tier(name)
    const rates: { [M in Meter]?: string } = {}
    for (const meter of mainMeters) {
      const rub = rubPerMillion[meter]
      if (rub !== undefined) rates[meter] = productOf(rub, factor)
    }
    const prices = short(words, rates)
    return `${label}, ×${decimal(factor, words.language)}${prices === '' ? '' : `: ${prices}`}`
  })
}

/** The parts of a price without a column, as sentences. */
function priceNotes(words: Words, { price, later }: Pick<PricedModel, 'price' | 'later'>): readonly string[] {
  const isMain: ReadonlySet<Meter> = new Set(mainMeters)
  const others = allMeters.filter(meter => !isMain.has(meter))
  return [
    ...perMillion(words, price.rubPerMillion, others),
    ...perUnit(words, price.rubPerUnit),
    ...levels(words, price),
    ...tiers(words, price),
    ...later.map(next => {
      const prices = [
        ...perMillion(words, next.rubPerMillion),
        ...perUnit(words, next.rubPerUnit),
        ...levels(words, next),
      ]
      return `${words.texts.models.from(isoDay(Date.parse(next.from ?? '')))}: ${prices.join(', ')}`
    }),
  ]
}

function row(page: OwnPage, model: PricedModel): Html {
  const { texts, language } = page
  const { models } = texts
  const notes = priceNotes(page, model)
  return html`<tr role="row">
    <th scope="row" role="rowheader">
      <bdi class="model-name">${model.name}</bdi>
      ${model.aliases.length === 0 ? '' : html`<span class="quiet small">${models.aliases}: ${model.aliases.join(', ')}</span>`}
    </th>
    ${mainMeters.map(meter => {
      const rub = model.price.rubPerMillion[meter]
      return html`<td role="cell" class="number ${rub === undefined ? 'absent' : ''}">
        <span class="in-card">${models[meter]}</span> ${rub === undefined ? '—' : exactRoubles(rub, language)}
      </td>`
    })}
    <td role="cell" class="notes">
      ${
        notes.length === 0
          ? ''
          : html`<ul>
              ${notes.map(note => html`<li>${note}</li>`)}
            </ul>`
      }
    </td>
  </tr>`
}

function providerModels(page: OwnPage, provider: string, found: readonly PricedModel[]): Html {
  const { models } = page.texts
  const title = provider === '' ? models.title : provider
  const prices = mainMeters.map(meter => ({ name: models[meter], isNumber: true }))
  const columns = [{ name: models.model }, ...prices, { name: models.others }]
  const rows = found.map(model => row(page, model))
  return html`<section class="card">
    <div class="row between">
      <h2>${title}</h2>
      <span class="quiet small">${models.perMillion}</span>
    </div>
    ${cardTable(title, 'models', columns, rows)}
  </section>`
}

function byProvider(found: readonly PricedModel[]): ReadonlyMap<string, readonly PricedModel[]> {
  return Map.groupBy(found, ({ provider }) => provider)
}

/** Links that show a single provider's models, so that phone users need not scroll past all others. */
function providerChoice(page: OwnPage, found: readonly PricedModel[], { q, provider }: Search): Html | '' {
  const { models } = page.texts
  const groups = byProvider(found)
  const named = [...groups].filter(([name]) => name !== '')
  if (provider === '' && (named.length < 2 || found.length < modelsBeforeChoice)) return ''
  const link = (name: string, label: string, models: number): Html => {
    const query = new URLSearchParams({
      ...(q === '' ? {} : { q }),
      ...(name === '' ? {} : { provider: name }),
    })
    return html`<li>
      <a
        href="/models${query.size === 0 ? '' : `?${query.toString()}`}"
        ${name === provider ? html`aria-current="true"` : ''}
        >${label} <span class="quiet">${count(models, page.language)}</span></a
      >
    </li>`
  }
  return html`<nav class="contents choice" aria-label="${models.providers}">
    <ul>
      ${link('', models.allProviders, found.length)}
      ${named.map(([name, own]) => link(name, name, own.length))}
    </ul>
  </nav>`
}

function nothing({ texts: { models } }: OwnPage, isSearch: boolean): Html {
  if (!isSearch) return emptyCard(models.empty, models.emptyHint, '')
  return emptyCard(
    models.none,
    models.noneHint,
    html`<a class="button plain" href="/models">${models.reset}</a>`,
  )
}

/** The models with their prices. */
export async function showModels(page: OwnPage): Promise<PageResponse> {
  const { texts, site } = page
  const { models } = texts
  const sent = readQuery(page, searchSchema)
  const search = sent.isValid ? sent.value : { q: '', provider: '' }
  const { q: text, provider } = search
  const isSearch = text !== '' || provider !== ''
  const all = pricedModels(site.config, site.clock.now())
  const named = text === '' ? all : all.filter(model => matches(model, text))
  const found = provider === '' ? named : named.filter(model => model.provider === provider)
  return page.context.html(
    titledPage(
      page,
      { title: models.title },
      html`<p class="quiet prose">${models.intro} ${models.anyEnding}</p>
        ${formProblems(page, sent.state)}
        <form method="get" action="/models" class="search" role="search">
          ${field(sent.state, { name: 'q', label: models.search, type: 'search', hint: models.searchHint, isOptional: true })}
          ${provider === '' ? '' : html`<input type="hidden" name="provider" value="${provider}" />`}
          <div class="row search-actions">
            <button>${models.find}</button>
            ${!isSearch ? '' : html`<a href="/models">${models.reset}</a>`}
            <span class="quiet">${models.found(count(found.length, page.language))}</span>
          </div>
        </form>
        ${providerChoice(page, named, search)} ${found.length === 0 ? nothing(page, isSearch) : ''}
        ${[...byProvider(found)].map(([provider, own]) => providerModels(page, provider, own))}`,
    ),
    sent.isValid ? 200 : 422,
  )
}

/** A model with a price. */
interface PricedModel {
  readonly name: string
  /** Empty where it is hidden from customers. */
  readonly provider: string
  /** Its aliases, and patterns with the same price. */
  readonly aliases: string[]
  readonly price: Price
  /** Future prices, the next one first. */
  readonly later: readonly Price[]
}

function priced(
  config: Config,
  { name, providers, prices }: ModelConfig,
  now: number,
): PricedModel | undefined {
  const provider = providers.find(one => config.providers.get(one)?.isOff === false)
  const price = priceInForce(prices, now)
  if (provider === undefined || price === undefined) return undefined
  const later = prices.filter(({ from }) => from !== undefined && Date.parse(from) > now)
  return { name, provider: shownProvider(config, provider) ?? '', aliases: [], price, later }
}

function isSamePrice(left: PricedModel, right: PricedModel): boolean {
  const text = ({ price, later }: PricedModel): string =>
    [price, ...later].map(one => canonicalPrice({ ...one, model: '' })).join()
  return left.provider === right.provider && text(left) === text(right)
}

/** `gpt-5-20*` is listed under `gpt-5` when it has the same price. */
function modelOf(pattern: PricedModel, models: ReadonlyMap<string, PricedModel>): PricedModel | undefined {
  const beginning = pattern.name.split('*', 1)[0] ?? ''
  let best: PricedModel | undefined
  for (const model of models.values()) {
    const isNearer = best === undefined || model.name.length > best.name.length
    if (isNearer && beginning.startsWith(model.name) && isSamePrice(model, pattern)) best = model
  }
  return best
}

/** The models of a config with a current price and an active provider, in the config's order. */
function pricedModels(config: Config, now: number): readonly PricedModel[] {
  const models = new Map<string, PricedModel>()
  for (const entry of config.models.values()) {
    const model = priced(config, entry, now)
    if (model !== undefined) models.set(entry.name, model)
  }
  const patterns = new Map<string, PricedModel>()
  for (const entry of config.modelPatterns) {
    const pattern = priced(config, entry, now)
    if (pattern === undefined) continue
    const own = modelOf(pattern, models)
    if (own === undefined) patterns.set(entry.name, pattern)
    else {
      own.aliases.push(pattern.name)
      patterns.set(entry.name, own)
    }
  }
  const directory = new ModelDirectory(config)
  for (const alias of config.aliases.keys()) {
    const name = directory.resolve(alias, undefined)?.entry.name ?? ''
    const target = models.get(name) ?? patterns.get(name)
    target?.aliases.push(alias)
  }
  return [...new Set([...models.values(), ...patterns.values()])]
}
