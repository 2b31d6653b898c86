import { html } from 'hono/html'
import { z } from 'zod'
import { pricesSchema } from '../../config/pricing-schema.ts'
import type { ModelCost } from '../../ledger/reports.ts'
import { parseDecimal } from '../../money/decimal.ts'
import type { PreviewedChange, PreviewedPrices, PricePreview } from '../../prices/price-previews.ts'
import { changePercent, ratesInForce, readRates } from '../../prices/rate-book.ts'
import { count, decimal, spentMoney } from '../../web/format.ts'
import { readForm, says } from '../../web/http/read-form.ts'
import { emptyForm, field, form, formProblems, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { PageResponse, Html } from '../../web/web-page.ts'
import type { DeskPage } from '../page.ts'
import { facts } from '../../web/view/data-table.ts'
import { tableCard } from '../view/desk-list.ts'

const shownMax = 300

/** A number in Russian or English notation; the configuration's schema checks its value. */
const typedDecimal = z
  .string()
  .max(40, says('tooLong'))
  .default('')
  .transform(text => text.replaceAll(/\s/g, '').replace(',', '.'))
const schema = z.object({ usdRub: typedDecimal, coefficient: typedDecimal })

/** The form for a rate and a coefficient. */
export function previewForm(page: DeskPage, state: FormState): Html {
  const { preview } = page.texts
  const shared = { inputmode: 'decimal', hint: preview.asNow, isOptional: true } as const
  return html`<p class="quiet">${preview.hint}</p>
    ${form(
      page,
      '/prices/preview',
      html`${field(state, { ...shared, name: 'usdRub', label: preview.usdRub })}
        ${field(state, { ...shared, name: 'coefficient', label: preview.coefficient })}
        <div><button>${preview.submit}</button></div>`,
    )}`
}

/** The form, and the result of a preview. */
export function showPreview(page: DeskPage, state = emptyForm, found: Html | string = ''): Html {
  const { preview, prices } = page.texts
  return titledPage(
    page,
    { title: preview.title },
    html`<p><a href="/prices">${prices.title}</a></p>
      ${formProblems(page, state)}
      <section class="card">${previewForm(page, state)}</section>
      ${found}`,
  )
}

/** Errors in the form, by the rules of the configuration. */
function problemsOf({ preview }: DeskPage['texts'], prices: PreviewedPrices): FormState['errors'] {
  if (Object.keys(prices).length === 0) return { usdRub: preview.nothing }
  const wrong = new Set(pricesSchema.safeParse(prices).error?.issues.map(({ path }) => path[0]))
  return {
    ...(wrong.has('usdRub') && { usdRub: preview.usdRubInvalid }),
    ...(wrong.has('coefficient') && { coefficient: preview.coefficientInvalid }),
  }
}

/** Shows the changed prices and their effect on the last 30 days; nothing is written. */
export async function submitPreview(page: DeskPage): Promise<PageResponse> {
  const { site, texts } = page
  const sent = await readForm(page, schema)
  const refuse = (state: FormState) => page.context.html(showPreview(page, state), 422)
  if (!sent.isValid) return refuse(sent.state)
  const { usdRub, coefficient } = sent.value
  const prices = { ...(usdRub !== '' && { usdRub }), ...(coefficient !== '' && { coefficient }) }
  const errors = problemsOf(texts, prices)
  if (Object.keys(errors).length > 0) return refuse({ ...sent.state, errors })
  const now = site.clock.now()
  const rates = ratesInForce(await readRates(site.records), now)
  const found = await site.pricePreviews.preview(site.config, prices, { rates, now })
  if (!('changes' in found)) {
    const name = usdRub === '' ? 'coefficient' : 'usdRub'
    return refuse({ ...sent.state, errors: { [name]: refusalOf(page, found) } })
  }
  const { changes, costs } = found
  return showPreview(
    page,
    sent.state,
    html`${howToWrite(page, prices)} ${effect(page, costs)} ${changed(page, changes, costs ?? [])}`,
  )
}

function refusalOf(
  { texts, language }: DeskPage,
  found: Exclude<PricePreview, { changes: unknown }>,
): string {
  const { preview } = texts
  if ('busy' in found) return preview.busy
  if ('wrong' in found) return preview.wrong(found.wrong)
  const { model, meter, before, after } = found.jump
  return preview.jump(`${model}, ${meter}`, decimal(before, language), decimal(after, language))
}

function howToWrite({ texts: { preview } }: DeskPage, prices: PreviewedPrices): Html {
  const lines = Object.entries(prices).map(([name, value]) => `${name}: '${value}'`)
  return html`<section class="card">
    <p>${preview.write}</p>
    <pre><code>prices: { ${lines.join(', ')} }</code></pre>
    <p class="quiet">${preview.reload}</p>
  </section>`
}

function signed(micros: number, language: DeskPage['language']): string {
  return `${micros > 0 ? '+' : ''}${spentMoney(micros, language)}`
}

/** What the last 30 days were charged, and what they would have cost. */
function effect(page: DeskPage, costs: readonly ModelCost[] | undefined): Html {
  const { texts, language } = page
  const { preview, prices } = texts
  if (costs === undefined)
    return html`<section class="card">
      <h2>${preview.effect}</h2>
      <p>${preview.tooMany}</p>
    </section>`
  const sum = (of: (cost: ModelCost) => number): number => costs.reduce((total, cost) => total + of(cost), 0)
  const [lines, charged, after] = [
    sum(one => one.lines),
    sum(one => one.chargedMicros),
    sum(one => one.afterMicros),
  ]
  const shown = costs.toSorted(bySize).slice(0, shownMax)
  const above = facts([
    [preview.lines, count(lines, language)],
    [preview.charged, spentMoney(charged, language)],
    [preview.wouldBe, spentMoney(after, language)],
    [preview.difference, signed(after - charged, language)],
  ])
  return tableCard(
    page,
    { title: preview.effect, empty: preview.unused, above },
    [
      { name: prices.model, cell: one => html`<bdi>${one.model}</bdi>` },
      { name: preview.lines, cell: one => count(one.lines, language), isNumber: true },
      { name: preview.charged, cell: one => spentMoney(one.chargedMicros, language), isNumber: true },
      { name: preview.wouldBe, cell: one => spentMoney(one.afterMicros, language), isNumber: true },
      {
        name: preview.difference,
        cell: one => signed(one.afterMicros - one.chargedMicros, language),
        isNumber: true,
      },
    ],
    shown,
  )
}

function bySize(one: ModelCost, other: ModelCost): number {
  const size = ({ afterMicros, chargedMicros }: ModelCost): number => Math.abs(afterMicros - chargedMicros)
  return size(other) - size(one)
}

/** The changed prices: those of the most used models first, ordered by their charges. */
function changed(page: DeskPage, changes: readonly PreviewedChange[], costs: readonly ModelCost[]): Html {
  const { texts, language } = page
  const { preview, prices } = texts
  const used = new Map(costs.map(one => [one.model, one.chargedMicros]))
  const sorted = changes.toSorted(
    (one, other) =>
      (used.get(other.model) ?? -1) - (used.get(one.model) ?? -1) || (one.model < other.model ? -1 : 1),
  )
  const more = sorted.length - shownMax
  const below = more > 0 ? html`<p class="quiet">${preview.more(count(more, language))}</p>` : html``
  return tableCard(
    page,
    { title: preview.changes, empty: preview.same, below },
    [
      { name: prices.model, cell: one => html`<bdi>${one.model}</bdi>` },
      { name: prices.meter, cell: one => one.meter },
      { name: preview.before, cell: one => decimal(one.before, language), isNumber: true },
      { name: preview.after, cell: one => decimal(one.after, language), isNumber: true },
      { name: preview.change, cell: one => percentOf(one, language), isNumber: true },
      {
        name: '',
        cell: one =>
          html`<span class="whole">${one.unit === 'million' ? prices.perMillion : prices.perUnit}</span>`,
      },
    ],
    sorted.slice(0, shownMax),
  )
}

function percentOf({ before, after }: PreviewedChange, language: DeskPage['language']): string {
  if (parseDecimal(before) === 0n) return ''
  const percent = changePercent(before, after)
  return percent.startsWith('-')
    ? `\u2212${decimal(percent.slice(1), language)} %`
    : `+${decimal(percent, language)} %`
}
