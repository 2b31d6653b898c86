import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm } from '../http/read-form.ts'
import { ownPath, seeOther } from '../http/redirect.ts'
import type { Html, WebPage, PageContext } from '../web-page.ts'
import { emptyForm, field, form, formProblems, notice } from '../view/form.ts'
import type { FormState } from '../view/form.ts'
import { layout } from '../view/layout.ts'

const schema = z.object({
  email: fieldSchemas.email,
  password: fieldSchemas.password,
  next: hiddenField(2000),
})

function view(page: WebPage, next: string, state: FormState, isRefused = false): Html {
  const { fields, signIn } = page.texts
  return layout(
    page,
    { title: signIn.title, isNarrow: true },
    html`<h1>${signIn.title}</h1>
      ${notice(page)}${formProblems(page, state)}
      ${isRefused ? html`<p class="notice bad" role="alert">${signIn.refused}</p>` : ''}
      <div class="card">
        ${form(
          page,
          '/sign-in',
          html`<input type="hidden" name="next" value="${next}" />
            ${field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })}
            ${field(state, {
              name: 'password',
              label: fields.password,
              type: 'password',
              autocomplete: 'current-password',
            })}
            <button>${signIn.submit}</button>`,
        )}
      </div>
      ${page.site.frame(page).signInHelp ?? ''}`,
  )
}

/** The form to sign in. */
export function showSignIn(context: PageContext, page: WebPage): Response | Promise<Response> {
  const next = ownPath(context.req.query('next'))
  return page.session === undefined ? context.html(view(page, next, emptyForm)) : seeOther(context, next)
}

/** Signs in and goes on to where the user wanted to be. */
export async function submitSignIn(context: PageContext, page: WebPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  const next = ownPath(sent.state.typed['next'])
  if (!sent.isValid) return context.html(view(page, next, sent.state), 422)
  const { email, password } = sent.value
  const { identity } = page.site
  const result = await identity.signIn(email, password, page.caller)
  switch (result.kind) {
    case 'signed-in':
      await endForgotten(page)
      return seeOther(context, next, result.cookies)
    case 'code-needed':
      await endForgotten(page)
      return seeOther(context, `/sign-in/code?next=${encodeURIComponent(next)}`, result.cookies)
    case 'unconfirmed':
      // Only customers sign up by themselves.
      await identity.resendConfirmation(email, page.caller)
      return seeOther(context, `/check-mail?email=${encodeURIComponent(email)}`)
    case 'refused':
      page.site.log.info({ address: page.caller.address, requestId: page.requestId }, 'a sign-in was refused')
      return context.html(view(page, next, sent.state, true), 422)
  }
}

/** The browser forgets the session it had, so nobody should keep it. */
export async function endForgotten({ site, session, caller }: WebPage): Promise<void> {
  if (session !== undefined) await site.sessions.end(caller)
}

/** Ends the session. */
export async function submitSignOut(context: PageContext, page: WebPage): Promise<Response> {
  return seeOther(context, '/sign-in?notice=signed-out', await page.site.sessions.end(page.caller))
}
