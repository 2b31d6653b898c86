import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, Page, PageContext } from '../page.ts'
import { field, form, formProblems, notice } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'

const schema = z.object({ email: fieldSchemas.email })

function view(page: Page, state: FormState): Html {
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

/** Says that a letter is on its way, with the address to send it to once more. */
export function showCheckMail(context: PageContext, page: Page): Response | Promise<Response> {
  return context.html(view(page, { typed: { email: context.req.query('email') ?? '' }, errors: {} }))
}

/** Sends the letter once more; whether there was somebody to send it to is not said. */
export async function submitCheckMail(context: PageContext, page: Page): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(view(page, sent.state), 422)
  const { email } = sent.value
  await page.site.identity.resendConfirmation(email, page.caller)
  return seeOther(context, `/check-mail?notice=letter-sent&email=${encodeURIComponent(email)}`)
}
