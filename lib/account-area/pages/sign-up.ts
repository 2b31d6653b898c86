import { html } from 'hono/html'
import { z } from 'zod'
import type { Consent } from '../../accounts/user-rows.ts'
import { fieldSchemas, readForm, says } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { checkbox, emptyForm, field, form, formProblems, notice } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'

/** Two boxes to tick, each for one text: the law wants the consents apart from each other and from the offer. */
export const consentSchema = {
  offer: z.literal('yes', says('offerMissing')),
  personalData: z.literal('yes', says('personalDataMissing')),
}

const schema = z.object({ email: fieldSchemas.email, password: fieldSchemas.newPassword, ...consentSchema })

const resendSchema = z.object({ email: fieldSchemas.email })

/** What was agreed to by ticking both boxes. */
export function givenConsents({ site, language, caller }: Page): readonly Consent[] {
  const at = site.clock.now()
  return (['offer', 'personal-data'] as const).map(kind => ({
    kind,
    version: site.legal[kind].version,
    language,
    address: caller.address,
    at,
  }))
}

/** The two boxes with links to their texts. */
export function consentFields({ site, texts: { signUp } }: Page, state: FormState): Html {
  const link = (path: string, text: string, version: string): Html =>
    html`<a href="/documents/${path}" target="_blank" rel="noopener">${text}</a>
      <span class="quiet small">(${signUp.version(version)})</span>`
  return html`<fieldset>
    <legend>${signUp.consents}</legend>
    ${checkbox(state, {
      name: 'offer',
      label: html`${signUp.offer}. ${link('offer', signUp.offerLink, site.legal.offer.version)}`,
    })}
    ${checkbox(state, {
      name: 'personalData',
      label: html`${signUp.personalData}.
      ${link('personal-data', signUp.personalDataLink, site.legal['personal-data'].version)}`,
    })}
  </fieldset>`
}

function view(page: Page, state: FormState): Html {
  const { fields, signUp, shell } = page.texts
  return layout(
    page,
    { title: signUp.title, isNarrow: true },
    html`<h1>${signUp.title}</h1>
      <p class="quiet">${signUp.lead}</p>
      ${formProblems(page, state)}
      <div class="card">
        ${form(
          page,
          '/sign-up',
          html`${field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })}
            ${field(state, {
              name: 'password',
              label: fields.password,
              type: 'password',
              hint: fields.passwordHint,
              autocomplete: 'new-password',
            })}
            ${consentFields(page, state)} <button>${signUp.submit}</button>`,
        )}
      </div>
      <p>${signUp.hasAccount} <a href="/sign-in">${shell.signIn}</a></p>`,
  )
}

/** The form to sign up. */
export function showSignUp(context: PageContext, page: Page): Response | Promise<Response> {
  return page.session === undefined ? context.html(view(page, emptyForm)) : seeOther(context, '/')
}

/** Signs up; what comes after looks the same whether the address was new or not. */
export async function submitSignUp(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(view(page, sent.state), 422)
  const { email, password } = sent.value
  const { language, caller, site } = page
  await site.identity.signUp({ email, password, language, consents: givenConsents(page) }, caller)
  return seeOther(context, `/check-mail?email=${encodeURIComponent(email)}`)
}

function checkMailView(page: Page, state: FormState): Html {
  const { checkMail, fields } = page.texts
  return layout(
    page,
    { title: checkMail.title, isNarrow: true },
    html`<h1>${checkMail.title}</h1>
      ${notice(page)}${formProblems(page, state)}
      <p>${checkMail.text}</p>
      <div class="card">
        <p class="quiet">${checkMail.spam}</p>
        ${form(
          page,
          '/check-mail',
          html`${field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })}
            <button class="plain">${checkMail.submit}</button>`,
        )}
      </div>`,
  )
}

/** Says that an email is on its way, with the address to send it to once more. */
export function showCheckMail(context: PageContext, page: Page): Response | Promise<Response> {
  return context.html(checkMailView(page, { typed: { email: context.req.query('email') ?? '' }, errors: {} }))
}

/** Sends the letter once more; whether there was somebody to send it to is not said. */
export async function submitCheckMail(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, resendSchema)
  if (!sent.isValid) return context.html(checkMailView(page, sent.state), 422)
  const { email } = sent.value
  await page.site.identity.resendConfirmation(email, page.caller)
  return seeOther(context, `/check-mail?notice=letter-sent&email=${encodeURIComponent(email)}`)
}
