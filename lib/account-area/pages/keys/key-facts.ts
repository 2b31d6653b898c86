import { html } from 'hono/html'
import type { KeyUse } from '../../../ledger/reports.ts'
import { money, spentMoney, time } from '../../../web/format.ts'
import type { Html, OwnPage } from '../../page.ts'

function budgetFact({ texts, language }: OwnPage, { key, budget }: KeyUse): Html {
  const { keys } = texts
  if (budget === undefined) return html`${keys.noBudget}`
  const { spentMicros, heldMicros, budgetMicros, resetsAt } = budget
  const spent = keys.spentOf(spentMoney(spentMicros, language), money(budgetMicros, language))
  return html`${spent} ${keys.periods[key.budgetPeriod ?? 'total']}
    <progress
      max="${budgetMicros}"
      value="${Math.min(spentMicros, budgetMicros)}"
      aria-label="${keys.budget}: ${spent}"
    ></progress>
    ${heldMicros === 0 ? '' : html`<span class="quiet small">${keys.held(money(heldMicros, language))}</span>`}
    ${
      resetsAt === undefined
        ? ''
        : html`<span class="quiet small">${keys.resetsAt(time(resetsAt, language))}</span>`
    }`
}

function listFact(items: readonly string[] | undefined, all: string): Html {
  return items === undefined
    ? html`${all}`
    : html`<ul class="plain-list">
        ${items.map(item => html`<li class="mono">${item}</li>`)}
      </ul>`
}

/** What a key may do and has done, as terms and descriptions. */
export function keyFacts(page: OwnPage, use: KeyUse): Html {
  const { texts, language } = page
  const { keys } = texts
  const { key, lastUsedAt } = use
  const fact = (term: string, description: Html | string): Html =>
    html`<div>
      <dt>${term}</dt>
      <dd>${description}</dd>
    </div>`
  return html`<dl class="facts">
    ${fact(keys.lastUsedAt, lastUsedAt === undefined ? keys.neverUsed : time(lastUsedAt, language))}
    ${fact(keys.budget, budgetFact(page, use))} ${fact(keys.models, listFact(key.models, keys.allModels))}
    ${fact(keys.addresses, listFact(key.ipAddresses, keys.anyAddress))}
    ${fact(
      keys.expiresAt,
      // At the moment itself it is over: midnight would name the next day.
      key.expiresAt === undefined ? keys.noExpiry : keys.until(time(key.expiresAt - 1, language)),
    )}
    ${fact(keys.madeAt, time(key.createdAt, language))}
  </dl>`
}
