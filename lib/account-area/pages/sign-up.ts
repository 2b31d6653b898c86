import { html } from 'hono/html'
import { z } from 'zod'
import type { Consent } from '../../accounts/user-rows.ts'
import { fieldSchemas, readForm, says, hiddenField, withError } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { PageResponse, Html, Page, OwnPage } from '../page.ts'
import {
  askedForm,
  checkbox,
  emailField,
  emptyForm,
  hidden,
  notice,
  passwordField,
} from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { formPage, layout, messagePage } from '../../web/view/layout.ts'
import { newPasswordPage } from '../../web/pages/sign-in.ts'

/**
 * Two checkboxes, one for each text: the law requires the consents to be separate from each other and from the offer.
 */
const consentSchema = {
  offer: z.literal('yes', says('offerMissing')),
  personalData: z.literal('yes', says('personalDataMissing')),
}

const schema = z.object({ email: fieldSchemas.email, password: fieldSchemas.newPassword, ...consentSchema })

const emailSchema = z.object({ email: fieldSchemas.email })

/** The consents given by both checkboxes. */
function givenConsents({ site, language, caller }: Page): readonly Consent[] {
  const at = site.clock.now()
  return (['offer', 'personal-data'] as const).map(kind => ({
    kind,
    version: site.legal[kind].version,
    language,
    address: caller.address,
    at,
  }))
}

/** The two checkboxes with links to their texts. */
function consentFields({ site, texts: { signUp } }: Page, state: FormState): Html {
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
  const { signUp, shell } = page.texts
  const above = html`<p class="quiet">${signUp.lead}</p>`
  const below = html`<p>${signUp.hasAccount} <a href="/sign-in">${shell.signIn}</a></p>`
  return formPage(
    page,
    { title: signUp.title, action: '/sign-up', state, above, below },
    html`${emailField(page, state)} ${passwordField(page, state, 'password', { isNew: true })}
      ${consentFields(page, state)} <button>${signUp.submit}</button>`,
  )
}

export function showSignUp(page: Page): PageResponse | Promise<PageResponse> {
  return page.session === undefined ? view(page, emptyForm) : seeOther(page, '/')
}

/** Signs up; the response is the same whether or not the address is already used. */
export async function submitSignUp(page: Page): Promise<PageResponse> {
  const sent = await readForm(page, schema)
  if (!sent.isValid) return page.context.html(view(page, sent.state), 422)
  const { email, password } = sent.value
  const { language, caller, site } = page
  await site.identity.signUp({ email, password, language, consents: givenConsents(page) }, caller)
  return seeOther(page, `/check-mail?email=${encodeURIComponent(email)}`)
}

/** Confirms that an email was sent, with a form to send it again. */
export function showCheckMail(page: Page, state = askedForm(page, 'email')): Html {
  const { title, text, spam, submit } = page.texts.checkMail
  const above = html`${notice(page)}
    <p>${text}</p>`
  return formPage(
    page,
    { title, action: '/check-mail', state, above },
    html`<p class="quiet">${spam}</p>
      ${emailField(page, state)}
      <button class="plain">${submit}</button>`,
  )
}

/** Sends the email again, without revealing whether the address has a user. */
export async function submitCheckMail(page: Page): Promise<PageResponse> {
  const sent = await readForm(page, emailSchema)
  if (!sent.isValid) return page.context.html(showCheckMail(page, sent.state), 422)
  const { email } = sent.value
  await page.site.identity.resendConfirmation(email, page.caller)
  return seeOther(page, `/check-mail?notice=letter-sent&email=${encodeURIComponent(email)}`)
}

const consentsSchema = z.object(consentSchema)

function consentsView(page: OwnPage, state: FormState): Html {
  const { title, text, submit } = page.texts.consents
  return formPage(
    page,
    { title, action: '/consents', state, above: html`<p>${text}</p>` },
    html`${consentFields(page, state)}<button>${submit}</button>`,
  )
}

/** Whether a user has accepted both texts, in any version. */
export async function hasConsented({ site, session }: OwnPage): Promise<boolean> {
  const given = new Set((await site.users.consents(session.user.id)).map(({ kind }) => kind))
  return given.has('offer') && given.has('personal-data')
}

/** For users created by an operator: the consents that other users give when they sign up. */
export async function showConsents(page: OwnPage): Promise<PageResponse> {
  return (await hasConsented(page)) ? seeOther(page, '/') : consentsView(page, emptyForm)
}

/** Stores the consents. */
export async function submitConsents(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, consentsSchema)
  if (!sent.isValid) return page.context.html(consentsView(page, sent.state), 422)
  await page.site.users.addConsents(page.session.user.id, givenConsents(page))
  return seeOther(page, '/')
}

const confirmSchema = z.object({ token: hiddenField(2000), password: fieldSchemas.password })

/** The page of the email's link. Opening it has no effect yet: mail servers open links too. */
export function showConfirm(page: Page, state = askedForm(page, 'token')): Html {
  const { confirm, signIn } = page.texts
  const above = html`<p>${confirm.text}</p>`
  const below = html`<p><a href="/forgot-password">${signIn.forgot}</a></p>`
  return formPage(
    page,
    { title: confirm.title, action: '/confirm', state, above, below },
    html`${hidden(state, 'token')} ${passwordField(page, state, 'password')}
      <button>${confirm.submit}</button>`,
  )
}

/** Confirms the address and signs in. */
export async function submitConfirm(page: Page): Promise<PageResponse> {
  const { site, caller, context, texts } = page
  const sent = await readForm(page, confirmSchema)
  if (!sent.isValid) return context.html(showConfirm(page, sent.state), 422)
  const token = sent.state.typed['token'] ?? ''
  const result = await site.identity.confirm(token, sent.value.password, caller)
  if (result === undefined) {
    const { title, dead } = texts.confirm
    const message = { title, text: html`<p>${dead}</p>`, path: '/sign-in', label: texts.shell.signIn }
    return context.html(messagePage(page, message), 410)
  }
  if (result.kind === 'signed-in') return seeOther(page, '/', result.cookies)
  if (result.kind === 'code-needed') return seeOther(page, '/sign-in/code', result.cookies)
  return context.html(showConfirm(page, withError(page, sent.state, 'password', 'passwordWrong')), 422)
}

/** The form for a forgotten password. */
export function showForgotPassword(page: Page, state = emptyForm): Html {
  const { title, text, submit } = page.texts.forgotPassword
  return formPage(
    page,
    { title, action: '/forgot-password', state, above: html`<p>${text}</p>` },
    html`${emailField(page, state)}<button>${submit}</button>`,
  )
}

/** Sends an email if the user exists; the response is the same either way. */
export async function submitForgotPassword(page: Page): Promise<PageResponse> {
  const sent = await readForm(page, emailSchema)
  if (!sent.isValid) return page.context.html(showForgotPassword(page, sent.state), 422)
  await page.site.identity.forgotPassword(sent.value.email, page.caller)
  return seeOther(page, '/forgot-password/sent')
}

/** Says that an email may have been sent. */
export function showForgotPasswordSent(page: Page): PageResponse | Promise<PageResponse> {
  const { checkMail, forgotPassword, shell } = page.texts
  return layout(
    page,
    { title: forgotPassword.title, isNarrow: true },
    html`<h1>${checkMail.title}</h1>
      <p role="status">${forgotPassword.sent}</p>
      <p><a class="button plain" href="/sign-in">${shell.signIn}</a></p>`,
  )
}

/** The page of the email's link. */
export const resetPassword = newPasswordPage<Page>({
  path: '/reset-password',
  wordsOf: page => page.texts.resetPassword,
  deadLink: ({ texts: { forgotPassword, resetPassword: words } }) =>
    html`<p>${words.dead}</p>
      <p><a class="button" href="/forgot-password">${forgotPassword.submit}</a></p>`,
  notice: 'password-reset',
})
