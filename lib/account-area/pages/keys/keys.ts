import { html } from 'hono/html'
import type { KeyUse } from '../../../ledger/reports.ts'
import { time, money, spentMoney } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { notice, form } from '../../../web/view/form.ts'
import { dataTable, facts, type Column } from '../../../web/view/data-table.ts'
import { emptyCard, layout, titledPage } from '../../../web/view/layout.ts'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import { pathPart } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import { isId } from '../../../platform/new-id.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const revokedShown = 50

function stateBadge({ texts, site }: OwnPage, { key, budget }: KeyUse): Html {
  const { states } = texts.keys
  if (key.expiresAt !== undefined && key.expiresAt <= site.clock.now())
    return html`<span class="badge bad">${states.expired}</span>`
  if (budget !== undefined && budget.spentMicros >= budget.budgetMicros)
    return html`<span class="badge bad">${states.spent}</span>`
  return html`<span class="badge good">${states.active}</span>`
}

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

/** A key's limits and usage, as a description list. */
function keyFacts(page: OwnPage, use: KeyUse): Html {
  const { texts, language } = page
  const { keys } = texts
  const { key, lastUsedAt } = use
  return facts([
    [keys.lastUsedAt, lastUsedAt === undefined ? keys.neverUsed : time(lastUsedAt, language)],
    [keys.budget, budgetFact(page, use)],
    [keys.models, listFact(key.models, keys.allModels)],
    [keys.addresses, listFact(key.ipAddresses, keys.anyAddress)],
    // Shows the last valid moment: the expiry itself is a midnight, which would name the next day.
    [
      keys.expiresAt,
      key.expiresAt === undefined ? keys.noExpiry : keys.until(time(key.expiresAt - 1, language)),
    ],
    [keys.madeAt, time(key.createdAt, language)],
  ])
}

function activeKey(page: OwnPage, use: KeyUse): Html {
  const { keys } = page.texts
  const { key } = use
  return html`<li class="key">
    <div class="row between">
      <div class="row">
        <h3>${keyName(page, key)}</h3>
        <span class="mono quiet whole">${keys.ending(key.lastFour)}</span>
        ${stateBadge(page, use)}
      </div>
      <a href="/keys/${key.id}/revoke" aria-label="${keys.revokeOf(key.name)}">${keys.revoke}</a>
    </div>
    ${keyFacts(page, use)}
  </li>`
}

function revokedKeys(page: OwnPage, uses: readonly KeyUse[]): Html {
  const { texts, language } = page
  const { keys } = texts
  if (uses.length === 0) return html``
  const columns: readonly Column<KeyUse>[] = [
    { name: texts.newKey.name, cell: ({ key }) => keyName(page, key) },
    {
      name: texts.newKey.value,
      cell: ({ key }) => html`<span class="mono whole">${keys.ending(key.lastFour)}</span>`,
    },
    { name: keys.madeAt, cell: ({ key }) => time(key.createdAt, language), isWide: true },
    {
      name: keys.lastUsedAt,
      cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? keys.neverUsed : time(lastUsedAt, language)),
      isWide: true,
    },
    { name: keys.revokedAt, cell: ({ key }) => time(key.revokedAt ?? 0, language) },
  ]
  return html`<section class="card">
    <h2>${keys.revoked}</h2>
    <p class="quiet small">${keys.revokedHint(revokedShown)}</p>
    ${dataTable({ label: keys.revoked, empty: '' }, columns, uses)}
  </section>`
}

/** The account's keys with their limits and usage. */
export async function showKeys(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const { keys } = texts
  // Operators may create more keys than customers can.
  const active = await site.reports.keyUses(account.accountId, { isRevoked: false, limit: 1000 })
  const revoked = await site.reports.keyUses(account.accountId, { isRevoked: true, limit: revokedShown })
  const make = html`<a class="button" href="/keys/new">${keys.make}</a>`
  return layout(
    page,
    { title: keys.title },
    html`<div class="row between">
        <h1>${keys.title}</h1>
        ${active.length === 0 ? '' : make}
      </div>
      ${notice(page)}
      ${
        active.length === 0
          ? emptyCard(keys.none, keys.noneHint, make)
          : html`<section class="card">
              <h2 class="unseen">${keys.active}</h2>
              <ul class="keys">
                ${active.map(use => activeKey(page, use))}
              </ul>
            </section>`
      }
      ${revokedKeys(page, revoked)}`,
  )
}

/** The name of a key, isolated from the direction of the surrounding text. */
export function keyName({ texts }: OwnPage, { name }: Pick<KeyRecord, 'name'>): Html {
  return name === '' ? html`<span class="quiet">${texts.keys.unnamed}</span>` : html`<bdi>${name}</bdi>`
}

/** The key in the path, if it belongs to the account. */
async function ownKey(page: OwnPage): Promise<KeyRecord | undefined> {
  const id = pathPart(page)
  const { site, account } = page
  return isId(id) ? site.reports.key(account.accountId, id) : undefined
}

/** Asks for confirmation before a key is revoked. */
export async function showRevokeKey(page: OwnPage): Promise<PageResponse> {
  const key = await ownKey(page)
  if (key === undefined) return showFailure(page, 'notFound')
  if (key.revokedAt !== undefined) return seeOther(page, '/keys?notice=key-revoked')
  const { keys, revokeKey } = page.texts
  return titledPage(
    page,
    { title: revokeKey.title, isNarrow: true },
    html`<section class="card">
      <h2>${keyName(page, key)}</h2>
      <p class="quiet small">
        <span class="mono whole">${keys.ending(key.lastFour)}</span> · ${keys.madeAt}
        ${time(key.createdAt, page.language)}
      </p>
      <p>${revokeKey.text}</p>
      ${form(
        page,
        `/keys/${key.id}/revoke`,
        html`<div class="row">
          <button class="danger">${revokeKey.submit}</button>
          <a class="button plain" href="/keys">${revokeKey.cancel}</a>
        </div>`,
      )}
    </section>`,
  )
}

/** Revokes a key: from now on it is refused. */
export async function submitRevokeKey(page: OwnPage): Promise<PageResponse> {
  const key = await ownKey(page)
  if (key === undefined) return showFailure(page, 'notFound')
  await page.site.accounts.revokeKey(key.id)
  return seeOther(page, '/keys?notice=key-revoked')
}
