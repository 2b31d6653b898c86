import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, readForm } from '../../web/http/read-form.ts'
import { newPasswordPage } from '../../web/pages/sign-in.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { emptyForm, field, form, formProblems } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout, titledPage } from '../../web/view/layout.ts'

const forgotSchema = z.object({ email: fieldSchemas.email })

function forgotView(page: Page, state: FormState): Html {
  const { fields, forgotPassword } = page.texts
  return titledPage(
    page,
    { title: forgotPassword.title, isNarrow: true },
    html`${formProblems(page, state)}
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

/** Sends an email where there is such a user, and says the same where there is none. */
export async function submitForgotPassword(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, forgotSchema)
  if (!sent.isValid) return context.html(forgotView(page, sent.state), 422)
  await page.site.identity.forgotPassword(sent.value.email, page.caller)
  return seeOther(context, '/forgot-password/sent')
}

/** Says that an email may be on its way. */
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

/** The page of the email's link. */
export const resetPassword = newPasswordPage<Page>({
  path: '/reset-password',
  wordsOf: page => page.texts.resetPassword,
  deadLink: ({ texts: { forgotPassword, resetPassword: words } }) =>
    html`<p>${words.dead}</p>
      <p><a class="button" href="/forgot-password">${forgotPassword.submit}</a></p>`,
  notice: 'password-reset',
})
