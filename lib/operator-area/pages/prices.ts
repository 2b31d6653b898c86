import { html } from 'hono/html'
import { z } from 'zod'
import { actionStep } from '../../administration/operator-log.ts'
import type { ModelConfig } from '../../config/config.ts'
import { priceInForce } from '../../money/price.ts'
import { RateError } from '../../prices/cbr-rate.ts'
import { acceptRate, readRates } from '../../prices/rate-book.ts'
import { hiddenField, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { buttonForm } from '../../web/view/button-form.ts'
import { notice } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import { may } from '../page.ts'
import type { DeskPage } from '../page.ts'
import { dataTable } from '../view/data-table.ts'

const shownMax = 200
const schema = z.object({ day: hiddenField(10) })

interface PriceLine {
  readonly model: string
  readonly provider: string
  readonly meter: string
  readonly amount: string
  readonly isPerMillion: boolean
}

function linesOf({ name, prices, providers }: ModelConfig, now: number): readonly PriceLine[] {
  const price = priceInForce(prices, now)
  const provider = providers.join(', ')
  const lines = (table: Readonly<Record<string, string>> = {}, isPerMillion: boolean): readonly PriceLine[] =>
    Object.entries(table).map(([meter, amount]) => ({ model: name, provider, meter, amount, isPerMillion }))
  return [...lines(price?.rubPerMillion, true), ...lines(price?.rubPerUnit, false)]
}

async function rateTable(page: DeskPage): Promise<Html> {
  const { prices } = page.texts
  return dataTable(
    { label: prices.rates, empty: page.texts.common.none },
    [
      { name: prices.day, cell: one => one.day },
      { name: prices.rate, cell: one => one.usd_rub, isNumber: true },
      { name: page.texts.common.state, cell: one => prices[one.state] },
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
    (await readRates(page.site.records)).slice(0, 10),
  )
}

/** What models cost now, and the rates that they follow. */
export async function showPrices(context: PageContext, page: DeskPage): Promise<Response> {
  const { site } = page
  const { prices, common } = page.texts
  const q = (context.req.query('q') ?? '').trim().toLowerCase()
  const now = site.clock.now()
  const models = [...site.config.models.values(), ...site.config.modelPatterns]
  const lines = models
    .filter(({ name }) => name.toLowerCase().includes(q))
    .flatMap(model => linesOf(model, now))
  return context.html(
    layout(
      page,
      { title: prices.title },
      html`<h1>${prices.title}</h1>
        ${notice(page)}
        <section class="card">
          <h2>${prices.rates}</h2>
          ${await rateTable(page)}
        </section>
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
              { name: prices.model, cell: one => html`<bdi>${one.model}</bdi>` },
              { name: prices.provider, cell: one => one.provider },
              { name: prices.meter, cell: one => one.meter },
              { name: prices.price, cell: one => one.amount, isNumber: true },
              { name: '', cell: one => (one.isPerMillion ? prices.perMillion : prices.perUnit) },
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
  const at = site.clock.now()
  try {
    const { day, usd_rub } = await acceptRate(site.records, sent.isValid ? sent.value.day : '', at)
    const done = { operator: session.user.email, action: 'accept-rate', accountId: '', at } as const
    await site.records.write([actionStep(site.records, { ...done, reason: `${day}: ${usd_rub}` })])
  } catch (error) {
    // Somebody else was sooner: the page shows how it is.
    if (!(error instanceof RateError)) throw error
    return seeOther(context, '/prices')
  }
  return seeOther(context, '/prices?notice=done')
}
