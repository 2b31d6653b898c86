import { html } from 'hono/html'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { ChargeSearch, ChargeRecord } from '../../../ledger/reports.ts'
import { count, isDay, spentMoney, alignDecimals, named, smallMoney, time } from '../../../web/format.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { cardTable } from '../../../web/view/data-table.ts'
import { formProblems, choice, field, type FormState } from '../../../web/view/form.ts'
import { emptyCard, titledPage } from '../../../web/view/layout.ts'
import { keyName } from '../keys/keys.ts'
import {
  inputMeters,
  meters as allMeters,
  outputMeters,
  type Meter,
  type Meters,
} from '../../../money/usage.ts'
import { z } from 'zod'
import { budgetDay } from '../../../ledger/key-spending.ts'
import { readQuery, says, withError } from '../../../web/http/read-form.ts'

/** How an exchange can end. */
const outcomes = ['completed', 'aborted', 'broken', 'refused'] as const

function optional<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(value => (value === '' ? undefined : value), schema.optional())
}

const day = z
  .string()
  .trim()
  .refine(isDay, says('dayInvalid'))
  .transform(text => budgetDay(Date.parse(`${text}T00:00:00+03:00`)))

const filterSchema = z.object({
  from: optional(day),
  until: optional(day),
  key: optional(z.string().max(100, says('invalid'))),
  model: optional(
    z
      .string()
      .trim()
      .max(200, says('tooLong'))
      .regex(/^[^\p{Cc}\p{Cs}]*$/u, says('invalid')),
  ),
  outcome: optional(z.enum(outcomes, says('invalid'))),
})

/** The selected charges, and the form that selects them. */
interface ChargeFilter {
  /** Absent when the form is invalid. */
  readonly search?: ChargeSearch
  readonly state: FormState
  /** The filter as a query string, without the page; empty when there is none. */
  readonly query: string
}

/** Reads the filter from the query. A key must belong to the account. */
export function readFilter(page: OwnPage, keys: readonly Pick<KeyRecord, 'id'>[]): ChargeFilter {
  const sent = readQuery(page, filterSchema)
  const parameters = new URLSearchParams(sent.state.typed)
  for (const [name, value] of Object.entries(sent.state.typed)) if (value === '') parameters.delete(name)
  const query = parameters.toString()
  if (!sent.isValid) return { state: sent.state, query }
  const { from, until, key, model, outcome } = sent.value
  if (key !== undefined && !keys.some(({ id }) => id === key))
    return { state: withError(page, sent.state, 'key', 'invalid'), query }
  if (from !== undefined && until !== undefined && from > until)
    return { state: withError(page, sent.state, 'until', 'daysSwapped'), query }
  const search: ChargeSearch = {
    ...(from !== undefined && { fromDay: from }),
    ...(until !== undefined && { untilDay: until }),
    ...(key !== undefined && { keyId: key }),
    ...(model !== undefined && model !== '' && { model }),
    ...(outcome !== undefined && { outcome }),
  }
  return { search, state: sent.state, query }
}

/** Browsers clear an invalid value in a date field, so the user could not correct it. */
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

/** The outcome of an exchange in the user's language. */
export function outcomeBadge({ texts }: OwnPage, outcome: string): Html {
  const label = named(texts.charges.outcomes, outcome)
  return html`<span class="badge ${outcome === 'completed' ? 'good' : ''}">${label}</span>`
}

/** The name of a charge's key. */
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

/** A summary of the usage: tokens in and out, and other meters. */
function usageSummary({ texts, language }: Pick<OwnPage, 'texts' | 'language'>, usage: Meters): string {
  const { charges, meters } = texts
  let sumIn = 0
  let sumOut = 0
  const others: string[] = []
  for (const meter of allMeters) {
    const used = usage[meter]
    if (used === undefined || used === 0) continue
    if (tokensIn.has(meter)) sumIn += used
    else if (tokensOut.has(meter)) sumOut += used
    else others.push(`${meters[meter]}: ${count(used, language)}`)
  }
  const parts = [
    ...(sumIn === 0 ? [] : [`${charges.tokensIn}\u00a0${count(sumIn, language)}`]),
    ...(sumOut === 0 ? [] : [`${charges.tokensOut}\u00a0${count(sumOut, language)}`]),
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
  // Explicit roles restore the table semantics that the style removes when it displays rows as cards.
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
/** A longer list of suggestions does not help. */
const modelsMax = 300

function withQuery(path: string, query: string, more?: string): string {
  const whole = [query, more].filter(part => part !== undefined && part !== '').join('&')
  return whole === '' ? path : `${path}?${whole}`
}

function nothing({ texts }: OwnPage, isFiltered: boolean): Html {
  const { charges } = texts
  if (!isFiltered) {
    const action = html`<a class="button" href="/quick-start">${charges.quickStart}</a>`
    return emptyCard(charges.none, charges.noneHint, action)
  }
  const action = html`<a class="button plain" href="/charges">${charges.reset}</a>`
  return emptyCard(charges.noneFound, charges.noneFoundHint, action)
}

async function found(
  page: OwnPage,
  keys: readonly KeyRecord[],
  search: ChargeSearch,
  query: string,
): Promise<Html> {
  const { texts, account, site, language } = page
  const { accountId } = account
  const { charges: words } = texts
  const total = await site.reports.chargesTotal(accountId, search)
  const cursor = page.context.req.query('before') ?? ''
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
export async function showCharges(page: OwnPage): Promise<PageResponse> {
  const { texts, account, site } = page
  const keys = await site.reports.keys(account.accountId)
  const models = await site.reports.chargedModels(account.accountId, modelsMax)
  const filter = readFilter(page, keys)
  const { search, state, query } = filter
  const title = texts.charges.title
  return page.context.html(
    titledPage(
      page,
      { title },
      html`${formProblems(page, state)}
      ${
        models.length === 0 && query === ''
          ? ''
          : html`<section class="card">${filterForm(page, keys, models, filter)}</section>`
      }
      ${search === undefined ? '' : await found(page, keys, search, query)}`,
    ),
    search === undefined ? 422 : 200,
  )
}
