import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import { shownProvider } from '../../../config/config.ts'
import type { ChargeRecord, ExchangeCharges } from '../../../ledger/reports.ts'
import { count, smallMoney, time, decimal, exactRoubles, named } from '../../../web/format.ts'
import { cardTable, facts, figure } from '../../../web/view/data-table.ts'
import { isId } from '../../../platform/new-id.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { copyButton } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { pathPart } from '../../../web/http/read-form.ts'
import { showFailure } from '../../../web/pages/failure.ts'
import { keyLabel, outcomeBadge } from './charges.ts'
import type { ChargeLine } from '../../../ledger/price-charge.ts'
import { explainLine, type ExplainedLine } from '../../../money/explain-line.ts'
import type { Price } from '../../../money/price.ts'

/** A long session has hundreds of turns, which are shown in parts. */
const partsShown = 50

function measured({ texts, language }: OwnPage, { usageSource, details }: ChargeRecord): Html {
  const { charge } = texts
  const { estimatedByTiktoken, estimatedByBytes, reasoning } = details
  return html`${named(charge.sources, usageSource)}
  ${estimatedByTiktoken === undefined ? '' : html`<span class="quiet small">${charge.estimatedByTiktoken(count(estimatedByTiktoken, language))}</span>`}
  ${estimatedByBytes === undefined ? '' : html`<span class="quiet small">${charge.estimatedByBytes(count(estimatedByBytes, language))}</span>`}
  ${reasoning === undefined ? '' : html`<span class="quiet small">${charge.details}: ${charge.reasoning(count(reasoning, language))}</span>`}`
}

function flags({ texts }: OwnPage, charge: ChargeRecord): Html {
  if (charge.flags.length === 0) return html``
  return html`<div>
    <h3>${texts.charge.flags}</h3>
    <ul class="points">
      ${charge.flags.map(flag => html`<li>${named(texts.charge.flagNames, flag)}</li>`)}
    </ul>
  </div>`
}

/** A remark on a charge: an amount, and its meaning. */
function remark(title: string, amount: string, hint: string): Html {
  return html`<p>
    <strong>${title}: ${amount}</strong><br />
    <span class="quiet">${hint}</span>
  </p>`
}

function remarks({ texts: { charge: words }, language }: OwnPage, charge: ChargeRecord): Html {
  const shown = (micros: number): string => smallMoney(micros, language)
  const { amountMicros, overrunMicros, returnedMicros } = charge
  const cost = amountMicros + overrunMicros
  const overrunHint = words.overrunHint(shown(cost), shown(amountMicros))
  const returnedHint = words.returnedHint(shown(cost - returnedMicros))
  return html`${overrunMicros === 0 ? '' : remark(words.overrun, shown(overrunMicros), overrunHint)}
  ${returnedMicros === 0 ? '' : remark(words.returned, shown(returnedMicros), returnedHint)}`
}

function partRow({ texts, language }: OwnPage, part: ExplainedLine['parts'][number]): Html {
  const { charge, meters } = texts
  const { meter, price, above, cost } = part
  const per = price?.per === 1 ? charge.perUnit : charge.perMillion
  return html`<tr role="row">
    <td role="cell">
      ${meters[meter]}${above === undefined ? '' : html` <span class="quiet small">${charge.above(count(above, language))}</span>`}
    </td>
    <td role="cell" class="number">
      <span class="in-card">${charge.units}: </span>${count(part.units, language)}
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

/** How the amount of a line is computed: units times prices, times the factor of the tier, rounded once. */
function chargeFormula(page: OwnPage, line: ChargeLine, price: Price | undefined): Html {
  const { texts, language } = page
  const { charge, meters } = texts
  const name = html`<h3><bdi>${line.model}</bdi></h3>`
  if (price === undefined) {
    return html`${name}
      <p class="quiet">${charge.priceUnknown}</p>
      <p>
        ${Object.entries(line.meters).map(([meter, used]) => html`${meters[meter as keyof typeof meters]}: ${count(used, language)} `)}
      </p>
      <p><strong>${smallMoney(line.amountMicros, language)}</strong></p>`
  }
  const { parts, factor, cost } = explainLine(price, line)
  const columns = [charge.units, charge.price, charge.cost].map(name => ({ name, isNumber: true }))
  const rows = [
    ...parts.map(part => partRow(page, part)),
    ...(line.tier === undefined ? [] : [tierRow(page, line.tier, factor)]),
    sumRow(charge.exact, exactRoubles(cost, language)),
    sumRow(
      charge.lineTotal,
      html`<strong>${smallMoney(line.amountMicros, language)}</strong>`,
      charge.rounded,
    ),
  ]
  return html`${name}
    ${line.variant === undefined ? '' : html`<p class="small">${charge.variant}: <bdi>${line.variant}</bdi></p>`}
    ${line.sumOf === undefined ? '' : html`<p class="small">${charge.sumOf(count(line.sumOf, language))}</p>`}
    ${cardTable(charge.lineOf(line.model), 'formula', [{ name: charge.meter }, ...columns], rows)}
    <p class="quiet small">${charge.priceVersion}: <code>${line.priceVersion}</code></p>`
}

function part(
  page: OwnPage,
  keys: readonly KeyRecord[],
  { prices, total }: ExchangeCharges,
  one: ChargeRecord,
): Html {
  const { charge, charges } = page.texts
  const provider = shownProvider(page.site.config, one.provider)
  return html`<section class="card" aria-labelledby="part-${one.sequence}">
    <div class="row between">
      <h2 id="part-${one.sequence}">
        ${total.charges === 1 ? charge.formula : charge.part(count(one.sequence + 1, page.language))}
      </h2>
      <strong>${smallMoney(one.amountMicros, page.language)}</strong>
    </div>
    ${facts([
      [charges.time, time(one.at, page.language)],
      [charges.model, html`<bdi>${one.model}</bdi>`],
      [charges.key, keyLabel(page, keys, one.keyId)],
      [charges.outcome, outcomeBadge(page, one.outcome)],
      [charge.operation, named(charge.operationNames, one.operation)],
      [charge.provider, provider ?? null],
      [charge.source, measured(page, one)],
    ])}
    ${one.lines.length === 0 ? html`<p class="quiet">${charge.noLines}</p>` : ''}
    ${one.lines.map(line => chargeFormula(page, line, prices.get(line.priceVersion)))} ${remarks(page, one)}
    ${flags(page, one)}
  </section>`
}

/** The start position in the query; the beginning by default. */
function readFrom({ context }: OwnPage): number {
  const text = context.req.query('from') ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

/** The cost of the whole request. */
function summary(page: OwnPage, requestId: string, { total }: ExchangeCharges): Html {
  const { charge } = page.texts
  const parts = html`<p>
    ${charge.parts(count(total.charges, page.language))}<br />
    <span class="quiet small">${charge.partsHint}</span>
  </p>`
  return html`<section class="card">
    <dl class="figures">
      ${figure(charge.total, smallMoney(total.amountMicros, page.language), { isMain: true })}
    </dl>
    <div class="row">
      <span class="quiet">${charge.requestId}</span>
      <code id="request-id">${requestId}</code>
      ${copyButton(page, 'request-id')}
    </div>
    ${total.charges === 1 ? '' : parts}
  </section>`
}

/** Links to the other parts of a long session. */
function otherParts(
  { texts }: OwnPage,
  path: string,
  from: number,
  { total, charges }: ExchangeCharges,
): Html | string {
  const { charge } = texts
  const last = charges.at(-1)
  if (total.charges === charges.length) return ''
  return html`<nav class="row between" aria-label="${texts.charges.pages}">
    ${from === 0 ? html`<span></span>` : html`<a href="${path}">← ${charge.firstParts}</a>`}
    ${
      last === undefined || charges.length < partsShown
        ? ''
        : html`<a href="${path}?from=${last.sequence + 1}">${charge.moreParts} →</a>`
    }
  </nav>`
}

/** The cost of one request in detail: all its charges, line by line. */
export async function showCharge(page: OwnPage): Promise<PageResponse> {
  const { site, account } = page
  const { accountId } = account
  const requestId = pathPart(page, 'requestId')
  const from = readFrom(page)
  const found = isId(requestId)
    ? await site.reports.exchangeCharges(accountId, requestId, { from, limit: partsShown })
    : undefined
  if (found === undefined) return showFailure(page, 'notFound')
  const keys = await site.reports.keys(accountId)
  const { charge } = page.texts
  return titledPage(
    page,
    { title: charge.title, back: { path: '/charges', label: charge.back } },
    html`${summary(page, requestId, found)} ${found.charges.map(one => part(page, keys, found, one))}
    ${otherParts(page, `/charges/${requestId}`, from, found)}`,
  )
}
