import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm } from '../../web/http/read-form.ts'
import { goOnSignedIn, newPasswordView } from '../../web/pages/new-password.ts'
import { emptyForm } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import type { Html, PageContext } from '../../web/web-page.ts'
import type { Page } from '../page.ts'

const schema = z.object({ token: hiddenField(200), newPassword: fieldSchemas.newPassword })

function view(page: Page, token: string, state: FormState): Html {
  const { title, submit } = page.texts.setPassword
  return newPasswordView(page, { title, submit, action: '/set-password', token }, state)
}

function deadLink(page: Page): Html {
  const { setPassword } = page.texts
  return layout(
    page,
    { title: setPassword.title, isNarrow: true },
    html`<h1>${setPassword.title}</h1>
      <p class="notice bad" role="alert">${setPassword.dead}</p>`,
  )
}

/** Where the link of `gateway operator add` leads. */
export async function showSetPassword(context: PageContext, page: Page): Promise<Response> {
  const token = context.req.query('token') ?? ''
  const isGood = await page.site.identity.isResetLink(token)
  return isGood ? context.html(view(page, token, emptyForm)) : context.html(deadLink(page), 410)
}

/** Sets the password and signs in. */
export async function submitSetPassword(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, schema)
  const token = sent.state.typed['token'] ?? ''
  if (!sent.isValid) return context.html(view(page, token, sent.state), 422)
  const result = await page.site.identity.resetPassword(token, sent.value.newPassword, page.caller)
  return result === undefined
    ? context.html(deadLink(page), 410)
    : goOnSignedIn(context, page, result, 'password-set')
}
