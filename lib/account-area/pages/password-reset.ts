import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm } from '../../web/http/read-form.ts'
import { goOnSignedIn, newPasswordView } from '../../web/pages/new-password.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { emptyForm, field, form, formProblems } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'

const forgotSchema = z.object({ email: fieldSchemas.email })
const resetSchema = z.object({ token: hiddenField(200), newPassword: fieldSchemas.newPassword })

function forgotView(page: Page, state: FormState): Html {
  const { fields, forgotPassword } = page.texts
  return layout(
    page,
    { title: forgotPassword.title, isNarrow: true },
    html`<h1>${forgotPassword.title}</h1>
      ${formProblems(page, state)}
      <p>${forgotPassword.text}</p>
      <div class="card">
        ${form(
          page,
          '/forgot-password',
          html`${field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })}
            <button>${forgotPassword.submit}</button>`,
        )}
      </div>`,
  )
}

/** The form of who has forgotten the password. */
export function showForgotPassword(context: PageContext, page: Page): Response | Promise<Response> {
  return context.html(forgotView(page, emptyForm))
}

/** Sends a letter where there is such a user, and says the same where there is none. */
export async function submitForgotPassword(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, forgotSchema)
  if (!sent.isValid) return context.html(forgotView(page, sent.state), 422)
  await page.site.identity.forgotPassword(sent.value.email, page.caller)
  return seeOther(context, '/forgot-password/sent')
}

/** Says that a letter may be on its way. */
export function showForgotPasswordSent(context: PageContext, page: Page): Response | Promise<Response> {
  const { checkMail, forgotPassword, shell } = page.texts
  return context.html(
    layout(
      page,
      { title: forgotPassword.title, isNarrow: true },
      html`<h1>${checkMail.title}</h1>
        <p role="status">${forgotPassword.sent}</p>
        <p><a class="button plain" href="/sign-in">${shell.signIn}</a></p>`,
    ),
  )
}

function resetView(page: Page, token: string, state: FormState): Html {
  const { title, submit } = page.texts.resetPassword
  return newPasswordView(page, { title, submit, action: '/reset-password', token }, state)
}

function deadLink(page: Page): Html {
  const { forgotPassword, resetPassword } = page.texts
  return layout(
    page,
    { title: resetPassword.title, isNarrow: true },
    html`<h1>${resetPassword.title}</h1>
      <p>${resetPassword.dead}</p>
      <p><a class="button" href="/forgot-password">${forgotPassword.submit}</a></p>`,
  )
}

/** Where the email's link leads: the form for a new password, unless the link is of no use any more. */
export async function showResetPassword(context: PageContext, page: Page): Promise<Response> {
  const token = context.req.query('token') ?? ''
  const isGood = await page.site.identity.isResetLink(token)
  return isGood ? context.html(resetView(page, token, emptyForm)) : context.html(deadLink(page), 410)
}

/** Sets the new password; all sessions end, and one is signed in. */
export async function submitResetPassword(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, resetSchema)
  const token = sent.state.typed['token'] ?? ''
  if (!sent.isValid) return context.html(resetView(page, token, sent.state), 422)
  const result = await page.site.identity.resetPassword(token, sent.value.newPassword, page.caller)
  return result === undefined
    ? context.html(deadLink(page), 410)
    : goOnSignedIn(context, page, result, 'password-reset')
}
