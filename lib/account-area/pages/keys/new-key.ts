import { html } from 'hono/html'
import { AccountError, budgetPeriods } from '../../../accounts/accounts.ts'
import { readForm, fieldSchemas, hiddenField, says } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import {
  emptyForm,
  field,
  form,
  formProblems,
  problem,
  choice,
  textArea,
  copyButton,
} from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { z } from 'zod'
import { isAddressRange } from '../../../config/scalars.ts'
import type { Language } from '../../../web/texts/language.ts'
import { newId } from '../../../platform/new-id.ts'
import type { Config } from '../../../config/config.ts'
import { ModelDirectory, standsForModel } from '../../../models/model-directory.ts'

/** All keys that are not revoked are in memory, on every node. */
const activeKeysMax = 100

/** The models that a key can be limited to, by their first provider. */
function offeredModels(config: Config): ReadonlyMap<string, readonly string[]> {
  const byProvider = new Map<string, string[]>()
  for (const { name, prices, providers } of config.models.values()) {
    const provider = providers.find(one => config.providers.get(one)?.isOff === false)
    if (provider === undefined || prices.length === 0) continue
    const names = byProvider.get(provider)
    if (names === undefined) byProvider.set(provider, [name])
    else names.push(name)
  }
  return byProvider
}

/** Whether a name, or a prefix with `*`, can match a model that has a price. */
function isOffered(config: Config, name: string): boolean {
  const star = name.indexOf('*')
  if (star === -1) return (new ModelDirectory(config).resolve(name, undefined)?.entry.prices.length ?? 0) > 0
  return star === name.length - 1 && standsForModel(config, name)
}

function modelList(page: OwnPage, state: FormState): Html {
  const { newKey } = page.texts
  const offered = offeredModels(page.site.config)
  const chosen = new Set(state.typed['models']?.split('\n'))
  const total = [...offered.values()].reduce((sum, names) => sum + names.length, 0)
  if (total === 0) return html``
  const box = (name: string, id: string): Html =>
    html`<div class="check">
      <input
        type="checkbox"
        id="${id}"
        name="models"
        value="${name}"
        ${chosen.has(name) ? html`checked` : ''}
      />
      <label for="${id}" class="mono">${name}</label>
    </div>`
  return html`<details class="disclosure" ${chosen.size > 0 ? html`open` : ''}>
    <summary>${newKey.chooseModels(total)}</summary>
    <div class="choices">
      ${[...offered].map(
        ([provider, names]) =>
          html`<fieldset>
            <legend>${provider}</legend>
            ${names.map((name, index) => box(name, `model-${provider}-${index}`))}
          </fieldset>`,
      )}
    </div>
  </details>`
}

/** The key's name, budget and expiry. */
function spendingFields({ texts: { keys, newKey } }: OwnPage, state: FormState): Html {
  return html`${field(state, { name: 'name', label: newKey.name, hint: newKey.nameHint })}
  ${field(state, {
    name: 'budget',
    label: newKey.budget,
    hint: newKey.budgetHint,
    inputmode: 'decimal',
    isOptional: true,
  })}
  ${choice(state, { name: 'period', label: newKey.period, hint: newKey.periodHint, options: keys.periods })}
  ${field(state, {
    name: 'expires',
    label: newKey.expires,
    type: 'date',
    hint: newKey.expiresHint,
    isOptional: true,
  })}`
}

/** The models the key may use, and the addresses it may be used from. */
function accessFields(page: OwnPage, state: FormState): Html {
  const { keys, newKey } = page.texts
  return html`<fieldset class="field" id="models" aria-describedby="models-hint">
      <legend>${keys.models}</legend>
      <span class="hint" id="models-hint">${newKey.modelsHint}</span>
      ${modelList(page, state)} ${problem('models', state.errors['models'])}
    </fieldset>
    ${textArea(state, { name: 'patterns', label: newKey.patterns, hint: newKey.patternsHint })}
    ${textArea(state, { name: 'addresses', label: newKey.addresses, hint: newKey.addressesHint })}`
}

/** The form for a new key, empty or as it was submitted. */
export function showNewKey(page: OwnPage, state = emptyForm): Html {
  const { newKey } = page.texts
  return titledPage(
    page,
    { title: newKey.title },
    html`${formProblems(page, state)}
      <section class="card">
        ${form(
          page,
          '/keys/new',
          html`<input type="hidden" name="form" value="${newId()}" />
            <div class="halves">
              <div class="stack">${spendingFields(page, state)}</div>
              <div class="stack">${accessFields(page, state)}</div>
            </div>
            <div class="row">
              <button>${newKey.submit}</button>
              <a class="button plain" href="/keys">${newKey.cancel}</a>
            </div>`,
          { className: 'stack wide' },
        )}
      </section>`,
  )
}

function shownOnce(page: OwnPage, name: string, value: string): Html {
  const { newKey } = page.texts
  return titledPage(
    page,
    { title: newKey.doneTitle },
    html`<p class="notice" role="status">${newKey.done}</p>
      <section class="card">
        <h2>${name}</h2>
        <div class="field">
          <h3>${newKey.value}</h3>
          <p class="secret" id="new-key">${value}</p>
          <div>${copyButton(page, 'new-key')}</div>
          <span class="hint">${newKey.keepSecret}</span>
        </div>
        <div class="row">
          <a class="button" href="/quick-start">${newKey.quickStart}</a>
          <a class="button plain" href="/keys">${newKey.toKeys}</a>
        </div>
      </section>`,
  )
}

const listMax = 100
const modelName = z.string().max(200, says('tooLong'))

/** The fields of a new key; an expiry must be after `now`. */
function newKeySchema(now: number, language: Language) {
  return z.object({
    name: fieldSchemas.name.min(1, says('required')).max(60, says('tooLong')),
    /** The id of the shown form. */
    form: hiddenField(26),
    models: z.array(modelName).max(1000, says('tooLong')),
    patterns: fieldSchemas.list(modelName, listMax),
    budget: fieldSchemas.roubles(language),
    period: z.enum(budgetPeriods, says('invalid')).default('total'),
    expires: fieldSchemas.lastDay(now),
    addresses: fieldSchemas.list(z.string().refine(isAddressRange, says('addressesInvalid')), listMax),
  })
}

/** The values of a form for a new key. */
type NewKeyFields = z.output<ReturnType<typeof newKeySchema>>

/** Creates a key and shows it once: no page or URL shows it again, and browsers must not store the response. */
export async function submitNewKey(page: OwnPage): Promise<PageResponse> {
  const { site, account, texts } = page
  const sent = await readForm(page, newKeySchema(site.clock.now(), page.language))
  const refuse = (state: FormState): PageResponse | Promise<PageResponse> =>
    page.context.html(showNewKey(page, state), 422)
  if (!sent.isValid) return refuse(sent.state)
  const { value, state } = sent
  const unknown = (names: readonly string[]): string | undefined =>
    names.find(name => !isOffered(site.config, name))
  for (const field of ['models', 'patterns'] as const) {
    const name = unknown(value[field])
    if (name !== undefined) return refuse({ ...state, errors: { [field]: texts.newKey.modelUnknown(name) } })
  }
  if (!(await site.newKeyAttempts.begin(account.accountId)))
    return refuse({ ...state, errors: { name: texts.newKey.tooOften } })
  // Reloading the page submits the form again. The key that it created is never shown again.
  const form = value.form === '' ? undefined : `${account.accountId} ${value.form}`
  if (form !== undefined && !(await site.newKeyForms.begin(form))) return seeOther(page, '/keys')
  try {
    const made = await site.accounts.createKey(wantedKey(account.accountId, value))
    return await shownOnce(page, value.name, made.key)
  } catch (error) {
    if (form !== undefined) await site.newKeyForms.takeBack(form)
    if (!(error instanceof AccountError && error.code === 'key_limit')) throw error
    return refuse({ ...state, errors: { name: texts.newKey.tooMany(activeKeysMax) } })
  }
}

function wantedKey(accountId: string, fields: NewKeyFields) {
  const { name, budget, period, expires, addresses } = fields
  const models = [...new Set([...fields.models, ...fields.patterns])]
  return {
    accountId,
    name,
    activeKeysMax,
    ...(models.length === 0 ? {} : { models }),
    ...(budget === undefined ? {} : { budgetMicros: budget, budgetPeriod: period }),
    ...(expires === undefined ? {} : { expiresAt: expires }),
    ...(addresses.length === 0 ? {} : { ipAddresses: addresses }),
  }
}
