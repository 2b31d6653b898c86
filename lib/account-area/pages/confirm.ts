import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { emptyForm, field, form, formProblems } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'

const schema = z.object({ token: hiddenField(2000), password: fieldSchemas.password })

function view(page: Page, token: string, state: FormState): Html {
  const { confirm, fields, signIn } = page.texts
  return layout(
    page,
    { title: confirm.title, isNarrow: true },
    html`<h1>${confirm.title}</h1>
      ${formProblems(page, state)}
      <p>${confirm.text}</p>
      <div class="card">
        ${form(
          page,
          '/confirm',
          html`<input type="hidden" name="token" value="${token}" />
            ${field(state, {
              name: 'password',
              label: fields.password,
              type: 'password',
              autocomplete: 'current-password',
            })}
            <button>${confirm.submit}</button>`,
        )}
      </div>
      <p><a href="/forgot-password">${signIn.forgot}</a></p>`,
  )
}

function deadLink(page: Page): Html {
  const { confirm, shell } = page.texts
  return layout(
    page,
    { title: confirm.title, isNarrow: true },
    html`<h1>${confirm.title}</h1>
      <p>${confirm.dead}</p>
      <p><a class="button" href="/sign-in">${shell.signIn}</a></p>`,
  )
}

/** Where the letter's link leads. Following it does nothing yet: mail servers follow links too. */
export function showConfirm(context: PageContext, page: Page): Response | Promise<Response> {
  return context.html(view(page, context.req.query('token') ?? '', emptyForm))
}

/** Confirms the address and signs in. */
export async function submitConfirm(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, schema)
  const token = sent.state.typed['token'] ?? ''
  if (!sent.isValid) return context.html(view(page, token, sent.state), 422)
  const result = await page.site.identity.confirm(token, sent.value.password, page.caller)
  if (result === undefined) return context.html(deadLink(page), 410)
  if (result.kind === 'signed-in') return seeOther(context, '/', result.cookies)
  if (result.kind === 'code-needed') return seeOther(context, '/sign-in/code', result.cookies)
  return context.html(view(page, token, withError(page, sent.state, 'password', 'passwordWrong')), 422)
}
