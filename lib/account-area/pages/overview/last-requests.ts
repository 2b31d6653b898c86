import { html } from 'hono/html'
import type { ChargeReport } from '../../../ledger/reports.ts'
import { parseRoubles } from '../../../money/amount.ts'
import { alignDecimals, smallMoney, time } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'

/** The newest charges, each with a way to its details. */
export function lastRequests(
  page: OwnPage,
  charges: readonly ChargeReport[],
  keyNames: ReadonlyMap<string, string>,
): Html {
  const { overview } = page.texts
  const amounts = alignDecimals(charges.map(({ amount }) => smallMoney(parseRoubles(amount), page.language)))
  const row = ({ requestId, at, model, key }: ChargeReport, index: number): Html => {
    const when = time(Date.parse(at), page.language)
    return html`<tr>
      <td>
        <a href="/charges/${encodeURIComponent(requestId)}" aria-label="${overview.open(model, when)}"
          >${when}</a
        >
      </td>
      <td>${model}</td>
      <td class="wide-only"><bdi>${keyNames.get(key) ?? ''}</bdi></td>
      <td class="number">${amounts[index]}</td>
    </tr>`
  }
  return html`<section class="card">
    <div class="row between">
      <h2>${overview.last}</h2>
      <a href="/charges">${overview.all}</a>
    </div>
    <div class="table" tabindex="0" role="region" aria-label="${overview.last}">
      <table>
        <thead>
          <tr>
            <th scope="col">${overview.time}</th>
            <th scope="col">${overview.model}</th>
            <th scope="col" class="wide-only">${overview.key}</th>
            <th scope="col" class="number">${overview.amount}</th>
          </tr>
        </thead>
        <tbody>
          ${charges.map(row)}
        </tbody>
      </table>
    </div>
  </section>`
}
