import { html } from 'hono/html'
import { z } from 'zod'
import { priceInForce, startOf, type Price } from '../../money/price.ts'
import { acceptRate, readRates } from '../../prices/rate-book.ts'
import { priceRows, type PriceRow } from '../../prices/list-price.ts'
import { hiddenField, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { buttonForm, emptyForm, field, notice, refusal } from '../../web/view/form.ts'
import { layout, titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import { may, type DeskPage } from '../page.ts'
import { shownTime, tableCard } from '../view/desk-list.ts'
import { attempt } from '../view/shown-reason.ts'
import { dataTable, facts, type Column } from '../../web/view/data-table.ts'
import { previewForm } from './preview-prices.ts'
import type { ModelConfig } from '../../config/config.ts'
import { count, decimal } from '../../web/format.ts'
import { showFailure } from '../../web/pages/failure.ts'
import type { RateRow } from '../../stores/records/operator-tables.ts'

const shownMax = 200
const ratesShown = 10
const schema = z.object({ day: hiddenField(10) })

/** Current prices of models whose name contains a text. */
function modelTable(page: DeskPage, q: string): Html {
  const { site, texts } = page
  const { prices } = texts
  const now = site.clock.now()
  const lines = [...site.config.models.values(), ...site.config.modelPatterns]
    .filter(({ name }) => name.toLowerCase().includes(q))
    .flatMap(({ name, prices: versions, providers }) => {
      const price = priceInForce(versions, now)
      const rows = price === undefined ? [] : priceRows(price)
      return rows.map(row => ({ ...row, model: name, provider: providers.join(', ') }))
    })
  const link = (model: string): Html =>
    html`<a href="/prices/history?model=${encodeURIComponent(model)}"><bdi>${model}</bdi></a>`
  return tableCard(
    page,
    { title: prices.models },
    [
      { name: prices.model, cell: one => link(one.model) },
      { name: prices.provider, cell: one => one.provider },
      ...priceColumns(page),
    ],
    lines.slice(0, shownMax),
  )
}

/** Current prices of models, and the rates that they follow. */
export async function showPrices(page: DeskPage, refused?: string): Promise<PageResponse> {
  const { prices, preview, common } = page.texts
  const q = (page.context.req.query('q') ?? '').trim().toLowerCase()
  const rates = (await readRates(page.site.records)).slice(0, ratesShown)
  const previewCard = html`<section class="card">
    <h2>${preview.title}</h2>
    ${previewForm(page, emptyForm)}
  </section>`
  return page.context.html(
    titledPage(
      page,
      { title: prices.title },
      html`${notice(page)} ${refusal(refused)}
        <section class="card">
          <h2>${prices.rates}</h2>
          ${rateTable(page, rates)}
        </section>
        ${may(page.role, 'manage') ? previewCard : ''}
        <form class="search card" action="/prices">
          ${field({ typed: { q }, errors: {} }, { name: 'q', label: prices.model, type: 'search', isOptional: true })}
          <button>${common.find}</button>
        </form>
        ${modelTable(page, q)}`,
    ),
    refused === undefined ? 200 : 422,
  )
}

/** Accepts a held rate. */
export async function submitAcceptRate(page: DeskPage): Promise<PageResponse> {
  const { site, operator } = page
  const sent = await readForm(page, schema)
  const day = sent.isValid ? sent.value.day : ''
  const { refused } = await attempt(page, () => acceptRate(site.records, { day, operator }, site.clock.now()))
  return refused === undefined ? seeOther(page, '/prices?notice=done') : showPrices(page, refused)
}

const lookedBackMs = 90 * 86_400_000

/** The prices of a model in the configuration, the latest first, future ones included. */
function configured(page: DeskPage, { prices: versions }: ModelConfig): Html {
  const { texts, site } = page
  const { history, common, prices } = texts
  const now = site.clock.now()
  const inForce = priceInForce(versions, now)
  const stateOf = (price: Price): string => {
    if (price === inForce) return history.inForce
    return startOf(price.from) > now ? history.toCome : history.over
  }
  const rows = versions
    .toSorted((one, other) => (startOf(one.from) > startOf(other.from) ? -1 : 1))
    .flatMap(price => priceRows(price).map(row => ({ ...row, price })))
  return tableCard(
    page,
    { title: history.configured, below: html`<p class="quiet">${prices.historyHint}</p>` },
    [
      {
        name: history.from,
        cell: ({ price: { from } }) => (from === undefined ? history.always : shownTime(page, startOf(from))),
      },
      { name: common.state, cell: one => stateOf(one.price) },
      ...priceColumns(page),
    ],
    rows,
  )
}

/** How the price in dollars is converted, and the rates by day where the price follows them. */
async function rates(page: DeskPage, { list }: ModelConfig): Promise<Html> {
  const { texts, language, site } = page
  const { history, prices } = texts
  if (list === undefined) return html`<p>${history.ownPrice}</p>`
  const { usdRub, coefficient } = list
  const rate =
    typeof usdRub === 'string'
      ? decimal(usdRub, language)
      : history.byBank(decimal(usdRub.marginPercent, language))
  return html`<section class="card">
    <h2>${history.made}</h2>
    ${facts([
      [prices.rate, rate],
      [texts.preview.coefficient, decimal(coefficient, language)],
    ])}
    ${
      typeof usdRub === 'string'
        ? ''
        : html`<h3>${prices.rates}</h3>
            ${rateTable(page, await readRates(site.records))}`
    }
  </section>`
}

/** The prices of charges in the last 90 days. */
async function charged(page: DeskPage, name: string): Promise<Html> {
  const { texts, language, site } = page
  const { history } = texts
  const versions = await site.reports.chargedPrices(name, site.clock.now() - lookedBackMs)
  const above = html`<p class="quiet">${history.chargedHint}</p>`
  return tableCard(
    page,
    { title: history.charged, empty: history.unused, above },
    [
      { name: history.firstCharge, cell: one => shownTime(page, one.firstAt) },
      {
        name: history.lastCharge,
        cell: one => (one.lastAt === undefined ? '' : shownTime(page, one.lastAt)),
      },
      { name: history.uses, cell: one => count(one.lines, language), isNumber: true },
      ...priceColumns(page),
    ],
    versions.flatMap(version => priceRows(version.price).map(row => ({ ...version, ...row }))),
  )
}

/** Past, current and future prices of a model. */
export async function showPriceHistory(page: DeskPage): Promise<PageResponse> {
  const { site, texts } = page
  const name = page.context.req.query('model') ?? ''
  const model = site.config.models.get(name) ?? site.config.modelPatterns.find(one => one.name === name)
  if (model === undefined) return showFailure(page, 'notFound')
  return layout(
    page,
    { title: name },
    html`<h1><bdi>${name}</bdi></h1>
      <p><a href="/prices">${texts.prices.title}</a></p>
      ${configured(page, model)} ${await rates(page, model)} ${await charged(page, name)}`,
  )
}

/** The columns of a price: what it is for, and the amount. */
function priceColumns({ texts: { prices }, language }: DeskPage): readonly Column<PriceRow>[] {
  return [
    { name: prices.meter, cell: one => one.meter },
    { name: prices.price, cell: one => decimal(one.amount, language), isNumber: true },
    {
      name: '',
      cell: one =>
        html`<span class="whole">${one.unit === 'million' ? prices.perMillion : prices.perUnit}</span>`,
    },
  ]
}

/** The Central Bank's rates by day; a held one can be accepted. */
function rateTable(page: DeskPage, rates: readonly RateRow[]): Html {
  const { prices, common } = page.texts
  return dataTable(
    { label: prices.rates, empty: common.none },
    [
      { name: prices.day, cell: one => one.day },
      { name: prices.rate, cell: one => decimal(one.usd_rub, page.language), isNumber: true },
      { name: common.state, cell: one => prices[one.state] },
      {
        name: '',
        cell: one =>
          one.state === 'held' && may(page.role, 'manage')
            ? buttonForm(page, {
                action: '/prices/accept',
                fields: { day: one.day },
                label: prices.accept,
                className: 'plain',
              })
            : '',
      },
    ],
    rates,
  )
}
