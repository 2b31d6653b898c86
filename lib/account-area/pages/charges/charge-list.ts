import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { ChargeRecord } from '../../../ledger/charge-records.ts'
import { alignDecimals, smallMoney, time, units } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'
import { keyName } from '../keys/keys.ts'
import { inputMeters, meters as allMeters, outputMeters } from '../../../money/usage.ts'
import type { Meter, Meters } from '../../../money/usage.ts'

/** How an exchange ended, in the user's words. */
export function outcomeBadge({ texts }: OwnPage, outcome: string): Html {
  const { outcomes } = texts.charges
  const label = Object.hasOwn(outcomes, outcome) ? outcomes[outcome as keyof typeof outcomes] : outcome
  return html`<span class="badge ${outcome === 'completed' ? 'good' : ''}">${label}</span>`
}

/** What the key of a charge is called. */
export function keyLabel(page: OwnPage, keys: readonly KeyRecord[], keyId: string): Html {
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) return html`<span class="quiet">${page.texts.charges.unknownKey}</span>`
  return html`${keyName(page, key)} <span class="quiet mono whole">…${key.lastFour}</span>`
}

function marks({ texts }: OwnPage, { usageSource, flags }: ChargeRecord): Html {
  const { charges } = texts
  return html`${usageSource === 'estimated' ? html`<span class="badge">${charges.estimated}</span>` : ''}
  ${flags.length > 0 ? html`<span class="badge">${charges.withFlags}</span>` : ''}`
}

const tokensIn: ReadonlySet<Meter> = new Set(inputMeters)
const tokensOut: ReadonlySet<Meter> = new Set(outputMeters)

/** What was used, in short: tokens in and out, and whatever else there was. */
function usageSummary({ texts, language }: Pick<OwnPage, 'texts' | 'language'>, usage: Meters): string {
  const { charges, meters } = texts
  let sumIn = 0
  let sumOut = 0
  const others: string[] = []
  for (const meter of allMeters) {
    const count = usage[meter]
    if (count === undefined || count === 0) continue
    if (tokensIn.has(meter)) sumIn += count
    else if (tokensOut.has(meter)) sumOut += count
    else others.push(`${meters[meter]}: ${units(count, language)}`)
  }
  const parts = [
    ...(sumIn === 0 ? [] : [`${charges.tokensIn}\u00a0${units(sumIn, language)}`]),
    ...(sumOut === 0 ? [] : [`${charges.tokensOut}\u00a0${units(sumOut, language)}`]),
    ...others,
  ]
  return parts.length === 0 ? '—' : parts.join(' · ')
}

function row(
  page: OwnPage,
  keys: readonly KeyRecord[],
  charge: ChargeRecord,
  amount: string | undefined,
): Html {
  const { language, texts } = page
  const { charges } = texts
  const part = charge.sequence > 0 ? `?from=${charge.sequence}` : ''
  // The roles say what the style takes away where it makes cards of rows.
  return html`<tr role="row">
    <td role="cell" class="charge-time">
      <a href="/charges/${charge.requestId}${part}">${time(charge.at, language)}</a>
    </td>
    <td role="cell" class="charge-model"><bdi>${charge.model}</bdi></td>
    <td role="cell" class="charge-key">
      <span class="in-card">${charges.key}: </span>${keyLabel(page, keys, charge.keyId)}
    </td>
    <td role="cell" class="charge-usage">${usageSummary(page, charge.usage)}</td>
    <td role="cell" class="charge-outcome">${outcomeBadge(page, charge.outcome)} ${marks(page, charge)}</td>
    <td role="cell" class="charge-amount number">${amount}</td>
  </tr>`
}

/** Charges as a table, which is a list of cards on a phone. */
export function chargeList(
  page: OwnPage,
  keys: readonly KeyRecord[],
  charges: readonly ChargeRecord[],
): Html {
  const { texts, language } = page
  const amounts = alignDecimals(charges.map(({ amountMicros }) => smallMoney(amountMicros, language)))
  const columns = [
    texts.charges.time,
    texts.charges.model,
    texts.charges.key,
    texts.charges.usage,
    texts.charges.outcome,
  ]
  return html`<div class="table" tabindex="0" role="region" aria-label="${texts.charges.title}">
    <table class="charges" role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(column => html`<th scope="col" role="columnheader">${column}</th>`)}
          <th scope="col" role="columnheader" class="number">${texts.charges.amount}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${charges.map((charge, index) => row(page, keys, charge, amounts[index]))}
      </tbody>
    </table>
  </div>`
}
