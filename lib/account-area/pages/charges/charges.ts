import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { ChargeSearch } from '../../../ledger/charge-records.ts'
import { count, spentMoney } from '../../../web/format.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { choice, field, formProblems } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { outcomes, readFilter } from './charge-filter.ts'
import type { ChargeFilter } from './charge-filter.ts'
import { chargeList } from './charge-list.ts'

const pageLength = 50
/** More names than that are no help to who types one. */
const modelsMax = 300

function withQuery(path: string, query: string, more?: string): string {
  const whole = [query, more].filter(part => part !== undefined && part !== '').join('&')
  return whole === '' ? path : `${path}?${whole}`
}

/** Browsers drop what is no day from a field for days, so that it could not be mended. */
function dayField(state: FormState, name: string, label: string): Html {
  const type = state.errors[name] === undefined ? 'date' : 'text'
  return field(state, { name, label, type, isOptional: true })
}

function filterForm(
  page: OwnPage,
  keys: readonly KeyRecord[],
  models: readonly string[],
  { state, query }: ChargeFilter,
): Html {
  const { charges, keys: keyTexts } = page.texts
  const keyOptions = keys.map(({ id, name, lastFour }): [string, string] => [
    id,
    `${name === '' ? keyTexts.unnamed : name} (…${lastFour})`,
  ])
  const outcomeOptions = outcomes.map((outcome): [string, string] => [outcome, charges.outcomes[outcome]])
  return html`<form
    method="get"
    action="/charges"
    class="filter"
    role="search"
    aria-label="${charges.filter}"
  >
    ${dayField(state, 'from', charges.from)} ${dayField(state, 'until', charges.until)}
    ${choice(state, {
      name: 'key',
      label: charges.key,
      options: { '': charges.anyKey, ...Object.fromEntries(keyOptions) },
    })}
    ${field(state, { name: 'model', label: charges.model, type: 'search', isOptional: true, list: 'charged-models' })}
    <datalist id="charged-models">${models.map(model => html`<option value="${model}"></option>`)}</datalist>
    ${choice(state, {
      name: 'outcome',
      label: charges.outcome,
      options: { '': charges.anyOutcome, ...Object.fromEntries(outcomeOptions) },
    })}
    <div class="row actions">
      <button>${charges.apply}</button>
      ${query === '' ? '' : html`<a href="/charges">${charges.reset}</a>`}
    </div>
    <p class="hint">${charges.days}</p>
  </form>`
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
    layout(
      page,
      { title },
      html`<h1>${title}</h1>
        ${formProblems(page, state)}
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
