import { html } from 'hono/html'
import { z } from 'zod'
import { priceInForce } from '../../money/price.ts'
import { RateError, acceptRate, readRates } from '../../prices/rate-book.ts'
import { priceRows } from '../../prices/list-price.ts'
import { hiddenField, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { emptyForm, notice } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { PageContext } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'
import { priceColumns } from '../view/price-columns.ts'
import { rateTable } from '../view/rate-table.ts'
import { previewForm } from './preview-prices.ts'

const shownMax = 200
const ratesShown = 10
const schema = z.object({ day: hiddenField(10) })

/** What models cost now, and the rates that they follow. */
export async function showPrices(context: PageContext, page: DeskPage): Promise<Response> {
  const { site } = page
  const { prices, common } = page.texts
  const q = (context.req.query('q') ?? '').trim().toLowerCase()
  const now = site.clock.now()
  const models = [...site.config.models.values(), ...site.config.modelPatterns]
  const lines = models
    .filter(({ name }) => name.toLowerCase().includes(q))
    .flatMap(({ name, prices: versions, providers }) => {
      const price = priceInForce(versions, now)
      const rows = price === undefined ? [] : priceRows(price)
      return rows.map(row => ({ ...row, model: name, provider: providers.join(', ') }))
    })
  return context.html(
    layout(
      page,
      { title: prices.title },
      html`<h1>${prices.title}</h1>
        ${notice(page)}
        <section class="card">
          <h2>${prices.rates}</h2>
          ${rateTable(page, (await readRates(site.records)).slice(0, ratesShown))}
        </section>
        ${
          may(page.role, 'manage')
            ? html`<section class="card">
                <h2>${page.texts.preview.title}</h2>
                ${previewForm(page, emptyForm)}
              </section>`
            : ''
        }
        <form class="search card" action="/prices">
          <div class="field">
            <label for="q">${prices.model}</label>
            <input id="q" name="q" type="search" value="${q}" />
          </div>
          <button>${common.find}</button>
        </form>
        <section class="card">
          <h2>${prices.models}</h2>
          ${dataTable(
            { label: prices.models, empty: common.none },
            [
              {
                name: prices.model,
                cell: one =>
                  html`<a href="/prices/history?model=${encodeURIComponent(one.model)}"
                    ><bdi>${one.model}</bdi></a
                  >`,
              },
              { name: prices.provider, cell: one => one.provider },
              ...priceColumns(page),
            ],
            lines.slice(0, shownMax),
          )}
        </section>`,
    ),
  )
}

/** Has a held rate used. */
export async function submitAcceptRate(context: PageContext, page: DeskPage): Promise<Response> {
  const { site, session } = page
  const sent = await readForm(context, page, schema)
  try {
    const day = sent.isValid ? sent.value.day : ''
    await acceptRate(site.records, { day, operator: session.user.email }, site.clock.now())
  } catch (error) {
    // Somebody else was sooner: the page shows how it is.
    if (!(error instanceof RateError)) throw error
    return seeOther(context, '/prices')
  }
  return seeOther(context, '/prices?notice=done')
}
