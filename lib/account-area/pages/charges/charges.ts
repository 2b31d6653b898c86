import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { ChargeSearch, ChargeRecord } from '../../../ledger/charge-records.ts'
import { count, spentMoney, alignDecimals, named, smallMoney, time, units } from '../../../web/format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { cardTable } from '../../../web/view/data-table.ts'
import { formProblems } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { filterForm, readFilter } from './charge-filter.ts'
import { keyName } from '../keys/keys.ts'
import { inputMeters, meters as allMeters, outputMeters } from '../../../money/usage.ts'
import type { Meter, Meters } from '../../../money/usage.ts'

/** How an exchange ended, in the user's words. */
export function outcomeBadge({ texts }: OwnPage, outcome: string): Html {
  const label = named(texts.charges.outcomes, outcome)
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

function chargeRow(
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
function chargeList(page: OwnPage, keys: readonly KeyRecord[], charges: readonly ChargeRecord[]): Html {
  const { texts, language } = page
  const { title, time, model, key, usage, outcome, amount } = texts.charges
  const amounts = alignDecimals(charges.map(({ amountMicros }) => smallMoney(amountMicros, language)))
  const columns = [time, model, key, usage, outcome].map(name => ({ name }))
  const rows = charges.map((charge, index) => chargeRow(page, keys, charge, amounts[index]))
  return cardTable(title, 'charges', [...columns, { name: amount, isNumber: true }], rows)
}

const pageLength = 50
/** More names than that are no help to who types one. */
const modelsMax = 300

function withQuery(path: string, query: string, more?: string): string {
  const whole = [query, more].filter(part => part !== undefined && part !== '').join('&')
  return whole === '' ? path : `${path}?${whole}`
}

function nothing({ texts }: OwnPage, isFiltered: boolean): Html {
  const { charges } = texts
  return isFiltered
    ? html`<section class="card empty">
        <h2>${charges.noneFound}</h2>
        <p class="quiet">${charges.noneFoundHint}</p>
        <a class="button plain" href="/charges">${charges.reset}</a>
      </section>`
    : html`<section class="card empty">
        <h2>${charges.none}</h2>
        <p class="quiet">${charges.noneHint}</p>
        <a class="button" href="/quick-start">${charges.quickStart}</a>
      </section>`
}

async function found(
  context: PageContext,
  page: OwnPage,
  keys: readonly KeyRecord[],
  search: ChargeSearch,
  query: string,
): Promise<Html> {
  const { texts, account, site, language } = page
  const { accountId } = account
  const { charges: words } = texts
  const total = await site.reports.chargesTotal(accountId, search)
  const cursor = context.req.query('before') ?? ''
  const before = /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined
  if (total.charges === 0) return nothing(page, query !== '')
  const { charges, next } = await site.reports.findCharges(accountId, search, { before, limit: pageLength })
  return html`<section class="card">
    <div class="row between">
      <dl class="sum">
        <dt>${words.sum}</dt>
        <dd>${spentMoney(total.amountMicros, language)}</dd>
        <dd class="quiet">${words.shown(count(total.charges, language))}</dd>
      </dl>
      <a class="button plain" href="${withQuery('/charges.csv', query)}" download>${words.export}</a>
    </div>
    ${charges.length === 0 ? '' : chargeList(page, keys, charges)}
    ${charges.length < pageLength && next !== undefined ? html`<p class="quiet">${words.furtherHint}</p>` : ''}
    ${
      before === undefined && next === undefined
        ? ''
        : html`<nav class="row between" aria-label="${words.pages}">
            ${before === undefined ? html`<span></span>` : html`<a href="${withQuery('/charges', query)}">← ${words.newest}</a>`}
            ${next === undefined ? '' : html`<a rel="next" href="${withQuery('/charges', query, `before=${next}`)}">${words.older} →</a>`}
          </nav>`
    }
  </section>`
}

/** The account's charges, the newest first, and a filter. */
export async function showCharges(context: PageContext, page: OwnPage): Promise<Response> {
  const { texts, account, site } = page
  const keys = await site.reports.keys(account.accountId)
  const models = await site.reports.chargedModels(account.accountId, modelsMax)
  const filter = readFilter(context, page, keys)
  const { search, state, query } = filter
  const title = texts.charges.title
  return context.html(
    titledPage(
      page,
      { title },
      html`${formProblems(page, state)}
      ${
        models.length === 0 && query === ''
          ? ''
          : html`<section class="card">${filterForm(page, keys, models, filter)}</section>`
      }
      ${search === undefined ? '' : await found(context, page, keys, search, query)}`,
    ),
    search === undefined ? 422 : 200,
  )
}
