import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, readForm, withError } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { form } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { isOwnPassword } from './own-password.ts'
import { settingsView } from './settings.ts'

const schema = z.object({ newEmail: fieldSchemas.email, currentPassword: fieldSchemas.password })
const tokenSchema = z.object({ token: z.string().max(2000) })

/** Sends a letter to the new address. */
export async function submitEmail(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, session, caller, language } = page
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(await settingsView(page, { email: sent.state }), 422)
  const { newEmail, currentPassword } = sent.value
  if (newEmail === session.user.email) {
    const email = withError(page, sent.state, 'newEmail', 'emailSame')
    return context.html(await settingsView(page, { email }), 422)
  }
  if (!(await isOwnPassword(page, currentPassword))) {
    const email = withError(page, sent.state, 'currentPassword', 'passwordWrong')
    return context.html(await settingsView(page, { email }), 422)
  }
  await site.emailChange.ask(session.user, newEmail, language, caller)
  return seeOther(context, '/settings?notice=email-letter-sent')
}

function deadLink(page: OwnPage): Html {
  const { emailChange, settings } = page.texts
  return layout(
    page,
    { title: emailChange.title, isNarrow: true },
    html`<h1>${emailChange.title}</h1>
      <p>${emailChange.dead}</p>
      <p><a class="button" href="/settings">${settings.title}</a></p>`,
  )
}

/** Where the letter's link leads. Following it does nothing yet: mail servers follow links too. */
export async function showConfirmEmail(context: PageContext, page: OwnPage): Promise<Response> {
  const { emailChange } = page.texts
  const token = context.req.query('token') ?? ''
  const email = await page.site.emailChange.find(page.session.user, token)
  if (email === undefined) return context.html(deadLink(page), 410)
  return context.html(
    layout(
      page,
      { title: emailChange.title, isNarrow: true },
      html`<h1>${emailChange.title}</h1>
        <p>${emailChange.text(email)}</p>
        <div class="card">
          ${form(
            page,
            '/settings/email/confirm',
            html`<input type="hidden" name="token" value="${token}" />
              <button>${emailChange.submit}</button>`,
          )}
        </div>`,
    ),
  )
}

/** Makes the new address the user's. */
export async function submitConfirmEmail(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, tokenSchema)
  const isChanged = sent.isValid && (await page.site.emailChange.confirm(page.session.user, sent.value.token))
  if (!isChanged) return context.html(deadLink(page), 410)
  return seeOther(context, '/settings?notice=email-changed')
}
