import { html } from 'hono/html'
import type { ChargeLine } from '../../../ledger/price-charge.ts'
import { explainLine } from '../../../money/explain-line.ts'
import type { ExplainedLine } from '../../../money/explain-line.ts'
import type { Price } from '../../../money/price.ts'
import { count, decimal, exactRoubles, smallMoney, units } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'

function partRow({ texts, language }: OwnPage, part: ExplainedLine['parts'][number]): Html {
  const { charge, meters } = texts
  const { meter, price, above, cost } = part
  const per = price?.per === 1 ? charge.perUnit : charge.perMillion
  return html`<tr role="row">
    <td role="cell">
      ${meters[meter]}${above === undefined ? '' : html` <span class="quiet small">${charge.above(count(above, language))}</span>`}
    </td>
    <td role="cell" class="number">
      <span class="in-card">${charge.units}: </span>${units(part.units, language)}
    </td>
    <td role="cell" class="number">
      ${price === undefined ? charge.noPrice : html`<span class="sign">×</span> ${exactRoubles(price.rub, language)} <span class="quiet">${per}</span>`}
    </td>
    <td role="cell" class="number"><span class="sign">=</span> ${exactRoubles(cost, language)}</td>
  </tr>`
}

function sumRow(label: string, value: Html | string, note: Html | string = ''): Html {
  return html`<tr role="row">
    <th scope="row" role="rowheader" colspan="3">${label} <span class="quiet small">${note}</span></th>
    <td role="cell" class="number">${value}</td>
  </tr>`
}

function tierRow({ texts, language }: OwnPage, tier: string, factor: string | undefined): Html {
  const { charge } = texts
  return sumRow(
    `${charge.tier}: ${tier}`,
    factor === undefined ? '' : `× ${decimal(factor, language)}`,
    factor === undefined ? charge.noFactor : charge.factor,
  )
}

/** How the amount of a line comes about: units times prices, times the factor of the tier, rounded once. */
export function chargeFormula(page: OwnPage, line: ChargeLine, price: Price | undefined): Html {
  const { texts, language } = page
  const { charge, meters } = texts
  const name = html`<h3><bdi>${line.model}</bdi></h3>`
  if (price === undefined) {
    return html`${name}
      <p class="quiet">${charge.priceUnknown}</p>
      <p>
        ${Object.entries(line.meters).map(([meter, used]) => html`${meters[meter as keyof typeof meters]}: ${units(used, language)} `)}
      </p>
      <p><strong>${smallMoney(line.amountMicros, language)}</strong></p>`
  }
  const { parts, factor, cost } = explainLine(price, line)
  const columns = [charge.units, charge.price, charge.cost]
  return html`${name}
    ${line.variant === undefined ? '' : html`<p class="small">${charge.variant}: <bdi>${line.variant}</bdi></p>`}
    ${line.sumOf === undefined ? '' : html`<p class="small">${charge.sumOf(count(line.sumOf, language))}</p>`}
    <div class="table" tabindex="0" role="region" aria-label="${charge.lineOf(line.model)}">
      <table class="formula" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">${charge.meter}</th>
            ${columns.map(column => html`<th scope="col" role="columnheader" class="number">${column}</th>`)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${parts.map(part => partRow(page, part))}
          ${line.tier === undefined ? '' : tierRow(page, line.tier, factor)}
          ${sumRow(charge.exact, exactRoubles(cost, language))}
          ${sumRow(charge.lineTotal, html`<strong>${smallMoney(line.amountMicros, language)}</strong>`, charge.rounded)}
        </tbody>
      </table>
    </div>
    <p class="quiet small">${charge.priceVersion}: <code>${line.priceVersion}</code></p>`
}
