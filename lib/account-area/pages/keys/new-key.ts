import { html } from 'hono/html'
import { AccountError } from '../../../accounts/accounts.ts'
import { readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { copyButton } from '../../../web/view/copy-button.ts'
import { emptyForm } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { newKeyForm } from './new-key-form.ts'
import { newKeySchema } from './new-key-fields.ts'
import type { NewKeyFields } from './new-key-fields.ts'
import { isOffered } from './offered-models.ts'

/** All keys that are not revoked stand in memory, on every node. */
const activeKeysMax = 100

/** The form for a new key. */
export async function showNewKey(context: PageContext, page: OwnPage): Promise<Response> {
  return context.html(newKeyForm(page, emptyForm))
}

function shownOnce(page: OwnPage, name: string, value: string): Html {
  const { newKey } = page.texts
  return layout(
    page,
    { title: newKey.doneTitle },
    html`<h1>${newKey.doneTitle}</h1>
      <p class="notice" role="status">${newKey.done}</p>
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

/**
 * Makes a key and shows it, once: there is no page to come back to, and no address that holds it. Nothing of
 * the answer is kept by browsers.
 */
export async function submitNewKey(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, account, texts } = page
  const sent = await readForm(context, page, newKeySchema(site.clock.now(), page.language))
  const refuse = (state: FormState): Response | Promise<Response> =>
    context.html(newKeyForm(page, state), 422)
  if (!sent.isValid) return refuse(sent.state)
  const { value, state } = sent
  const unknown = (names: readonly string[]): string | undefined =>
    names.find(name => !isOffered(site.config, name))
  for (const field of ['models', 'patterns'] as const) {
    const name = unknown(value[field])
    if (name !== undefined) return refuse({ ...state, errors: { [field]: texts.newKey.modelUnknown(name) } })
  }
  if (!(await site.newKeyAttempts.begin(account.accountId))) {
    return refuse({ ...state, errors: { name: texts.newKey.tooOften } })
  }
  // A page that is loaded again sends its form again. The key that it made is shown to nobody any more.
  const form = value.form === '' ? undefined : `${account.accountId} ${value.form}`
  if (form !== undefined && !(await site.newKeyForms.begin(form))) return seeOther(context, '/keys')
  try {
    const made = await site.accounts.createKey(wantedKey(account.accountId, value))
    return await context.html(shownOnce(page, value.name, made.key))
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
