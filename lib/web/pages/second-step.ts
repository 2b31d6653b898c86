import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../http/read-form.ts'
import { ownPath, seeOther } from '../http/redirect.ts'
import type { Html, WebPage, PageContext } from '../web-page.ts'
import { emptyForm, field, form, formProblems } from '../view/form.ts'
import type { FormState } from '../view/form.ts'
import { layout } from '../view/layout.ts'

const schema = z.object({ code: fieldSchemas.code, next: hiddenField(2000) })

function view(page: WebPage, next: string, state: FormState): Html {
  const { fields, secondStep } = page.texts
  return layout(
    page,
    { title: secondStep.title, isNarrow: true },
    html`<h1>${secondStep.title}</h1>
      ${formProblems(page, state)}
      <p>${secondStep.text}</p>
      <div class="card">
        ${form(
          page,
          '/sign-in/code',
          html`<input type="hidden" name="next" value="${next}" />
            ${field(state, { name: 'code', label: fields.code, autocomplete: 'one-time-code' })}
            <button>${secondStep.submit}</button>`,
        )}
      </div>`,
  )
}

function over(page: WebPage): Html {
  const { secondStep, shell } = page.texts
  return layout(
    page,
    { title: secondStep.title, isNarrow: true },
    html`<h1>${secondStep.title}</h1>
      <p class="notice bad" role="alert">${secondStep.over}</p>
      <p><a class="button" href="/sign-in">${shell.signIn}</a></p>`,
  )
}

/** The second step of signing in. */
export function showSecondStep(context: PageContext, page: WebPage): Response | Promise<Response> {
  return context.html(view(page, ownPath(context.req.query('next')), emptyForm))
}

/** Takes a code of the app, or a backup code. */
export async function submitSecondStep(context: PageContext, page: WebPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  const next = ownPath(sent.state.typed['next'])
  if (!sent.isValid) return context.html(view(page, next, sent.state), 422)
  const result = await page.site.secondFactor.signIn(page.caller, sent.value.code)
  if (result.kind === 'signed-in') return seeOther(context, next, result.cookies)
  if (result.kind === 'over') return context.html(over(page), 422)
  return context.html(view(page, next, withError(page, sent.state, 'code', 'codeWrong')), 422)
}
