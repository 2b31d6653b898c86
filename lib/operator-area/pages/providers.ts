import { html } from 'hono/html'
import { z } from 'zod'
import { switchProvider, type ProviderAction } from '../../administration/provider-switches.ts'
import { textLengthsMax } from '../../administration/text-lengths.ts'
import { mergeHealth, type MergedProvider } from '../../upstream/provider-health.ts'
import { count } from '../../web/format.ts'
import { fieldSchemas, pathPart, readForm, says } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { showFailure } from '../../web/pages/failure.ts'
import { choice, emptyForm, field, form, formProblems, notice, type FormState } from '../../web/view/form.ts'
import { titledPage } from '../../web/view/layout.ts'
import type { Html } from '../../web/web-page.ts'
import { may, type DeskPage, type ShowDeskPage } from '../page.ts'
import { dataTable } from '../../web/view/data-table.ts'

const schema = z.object({
  credential: z.string().max(200, says('invalid')).default(''),
  reason: fieldSchemas.reason(textLengthsMax.reason),
})

interface Refused {
  readonly provider: string
  readonly state: FormState
}

interface Shown {
  readonly state: keyof DeskPage['texts']['providers']['states']
  readonly affected: number
  readonly processes: number
  readonly restMs: number
}

/** `does not answer (1 of 2 processes), for another 12 s`. */
function stateOf(page: DeskPage, { state, affected, processes, restMs }: Shown): Html {
  const { providers } = page.texts
  if (state === 'works') return html`${providers.states.works}`
  const where = affected < processes ? ` (${providers.partly(affected, processes)})` : ''
  const rest = restMs > 0 ? `, ${providers.restFor(Math.ceil(restMs / 1000))}` : ''
  return html`<span class="badge bad">${providers.states[state]}</span>${where}${rest}`
}

function credentialTable(page: DeskPage, { name, credentials }: MergedProvider): Html {
  const { providers, common } = page.texts
  const { language } = page
  return dataTable(
    { label: `${name}: ${providers.credentials}`, empty: common.none },
    [
      { name: providers.credential, cell: one => html`<code>${one.name}</code>` },
      {
        name: common.state,
        cell: one =>
          html`${one.isPaused ? html`<span class="badge bad">${providers.paused}</span> ` : ''}${stateOf(page, one)}`,
      },
      { name: providers.cooling, cell: one => count(one.coolingModels, language), isNumber: true },
      { name: providers.requests, cell: one => count(one.requests, language), isNumber: true },
      { name: providers.waiting, cell: one => count(one.waiting, language), isNumber: true },
    ],
    credentials,
  )
}

function routeTable(page: DeskPage, { name, routes }: MergedProvider): Html {
  const { providers, common } = page.texts
  return dataTable(
    { label: `${name}: ${providers.egress}`, empty: providers.unused },
    [
      { name: providers.egress, cell: one => html`<code>${one.egress}</code>` },
      { name: providers.address, cell: one => one.origin },
      { name: common.state, cell: one => stateOf(page, one) },
    ],
    routes,
  )
}

/** The actions pause, resume and try, for the whole provider or one credential. */
function actions(page: DeskPage, { name, credentials }: MergedProvider, state: FormState): Html {
  const { providers, common } = page.texts
  if (!may(page.role, 'manage')) return html``
  const path = `/providers/${encodeURIComponent(name)}`
  const options = { '': providers.whole, ...Object.fromEntries(credentials.map(one => [one.name, one.name])) }
  return form(
    page,
    `${path}/pause`,
    html`${choice(state, { name: 'credential', label: providers.credential, id: `${name}-credential`, options })}
      ${field(state, { name: 'reason', label: common.ownReason, id: `${name}-reason` })}
      <div class="row">
        <button class="danger">${providers.pause}</button>
        <button class="plain" formaction="${path}/resume">${providers.resume}</button>
        <button class="plain" formaction="${path}/try">${providers.try}</button>
      </div>`,
  )
}

/** Credentials and egress routes, as the processes of this node see them. */
export async function showProviders(page: DeskPage, refused?: Refused): Promise<Html> {
  const { providers: texts } = page.texts
  const all = mergeHealth(await page.site.providers.health())
  const off = all.filter(one => one.isOff)
  return titledPage(
    page,
    { title: texts.title },
    html`${notice(page)}
      ${refused === undefined ? '' : formProblems(page, refused.state, `${refused.provider}-`)}
      <p class="quiet">${texts.hint}</p>
      ${all
        .filter(one => !one.isOff)
        .map(
          one =>
            html`<section class="card">
              <h2>${one.name}</h2>
              ${credentialTable(page, one)} ${routeTable(page, one)}
              ${actions(page, one, refused?.provider === one.name ? refused.state : emptyForm)}
            </section>`,
        )}
      ${off.length === 0 ? '' : html`<p class="quiet">${texts.off} ${off.map(one => one.name).join(', ')}.</p>`}`,
  )
}

function order(action: ProviderAction): ShowDeskPage {
  return async page => {
    const { site, operator } = page
    const provider = pathPart(page, 'name')
    const known = site.config.providers.get(provider)
    if (known === undefined) return showFailure(page, 'notFound')
    const sent = await readForm(page, schema)
    if (!sent.isValid)
      return page.context.html(await showProviders(page, { provider, state: sent.state }), 422)
    const { credential, reason } = sent.value
    if (credential !== '' && !known.credentials.some(one => one.name === credential))
      return showFailure(page, 'notFound')
    await switchProvider(site.records, { action, provider, credential, reason, operator }, site.clock.now())
    await site.providers.look()
    return seeOther(page, '/providers?notice=done')
  }
}

/** Stops clients' requests to a provider or a credential. */
export const submitPause = order('pause')

/** Ends a pause. */
export const submitResume = order('resume')

/** Ends a cooldown: the next request tests the provider. */
export const submitTry = order('try')
