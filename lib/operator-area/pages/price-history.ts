import { html } from 'hono/html'
import type { ModelConfig } from '../../config/config.ts'
import { priceInForce, startOf } from '../../money/price.ts'
import type { Price } from '../../money/price.ts'
import { priceRows } from '../../prices/list-price.ts'
import { readRates } from '../../prices/rate-book.ts'
import { count, decimal, time } from '../../web/format.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'
import { facts } from '../view/facts.ts'
import { priceColumns } from '../view/price-columns.ts'
import { rateTable } from '../view/rate-table.ts'

const lookedBackMs = 90 * 86_400_000

/** The prices of a model as the configuration has them, the latest first, those to come included. */
function configured(page: DeskPage, { prices: versions }: ModelConfig): Html {
  const { texts, language, site } = page
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
  return html`<section class="card">
    <h2>${history.configured}</h2>
    ${dataTable(
      { label: history.configured, empty: common.none },
      [
        {
          name: history.from,
          cell: ({ price: { from } }) =>
            from === undefined ? history.always : time(startOf(from), language, page.site.config.timeZone),
        },
        { name: common.state, cell: one => stateOf(one.price) },
        ...priceColumns(page),
      ],
      rows,
    )}
    <p class="quiet">${prices.historyHint}</p>
  </section>`
}

/** How the price in dollars becomes the price, and the rates by day where it follows them. */
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

/** What charges of the last 90 days were priced by. */
async function charged(page: DeskPage, name: string): Promise<Html> {
  const { texts, language, site } = page
  const { history } = texts
  const versions = await site.reports.chargedPrices(name, site.clock.now() - lookedBackMs)
  return html`<section class="card">
    <h2>${history.charged}</h2>
    <p class="quiet">${history.chargedHint}</p>
    ${dataTable(
      { label: history.charged, empty: history.unused },
      [
        { name: history.firstCharge, cell: one => time(one.firstAt, language, page.site.config.timeZone) },
        {
          name: history.lastCharge,
          cell: one =>
            one.lastAt === undefined ? '' : time(one.lastAt, language, page.site.config.timeZone),
        },
        { name: history.uses, cell: one => count(one.lines, language), isNumber: true },
        ...priceColumns(page),
      ],
      versions.flatMap(version => priceRows(version.price).map(row => ({ ...version, ...row }))),
    )}
  </section>`
}

/** What a model costs, cost and will cost. */
export async function showPriceHistory(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, texts } = page
  const name = context.req.query('model') ?? ''
  const model = site.config.models.get(name) ?? site.config.modelPatterns.find(one => one.name === name)
  if (model === undefined) return showFailure(context, page, 'notFound')
  return context.html(
    layout(
      page,
      { title: name },
      html`<h1><bdi>${name}</bdi></h1>
        <p><a href="/prices">${texts.prices.title}</a></p>
        ${configured(page, model)} ${await rates(page, model)} ${await charged(page, name)}`,
    ),
  )
}
