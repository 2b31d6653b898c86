import { z } from 'zod'
import type { KeyRecord } from '../../../accounts/accounts.ts'
import type { ChargeSearch } from '../../../ledger/charge-records.ts'
import { budgetDay } from '../../../ledger/key-spending.ts'
import { isDay } from '../../../web/format.ts'
import { readQuery, says, withError } from '../../../web/http/read-form.ts'
import { html } from 'hono/html'
import { choice, field, type FormState } from '../../../web/view/form.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'

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

/** Which charges are asked for, and the form that asked. */
interface ChargeFilter {
  /** Absent when something is wrong with the form. */
  readonly search?: ChargeSearch
  readonly state: FormState
  /** The filter as it stands in addresses, without the page; empty when there is none. */
  readonly query: string
}

/** Reads the filter from a page's address. A key must be one of the account's. */
export function readFilter(
  context: PageContext,
  page: OwnPage,
  keys: readonly Pick<KeyRecord, 'id'>[],
): ChargeFilter {
  const sent = readQuery(context, page, filterSchema)
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

/** Browsers drop what is no day from a field for days, so that it could not be mended. */
function dayField(state: FormState, name: string, label: string): Html {
  const type = state.errors[name] === undefined ? 'date' : 'text'
  return field(state, { name, label, type, isOptional: true })
}

export function filterForm(
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
