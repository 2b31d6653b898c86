import { html } from 'hono/html'
import { field, form, formProblems } from '../view/form.ts'
import type { FormState } from '../view/form.ts'
import { layout } from '../view/layout.ts'
import { seeOther } from '../http/redirect.ts'
import type { SignInResult } from '../sign-in/identity.ts'
import type { Html, PageContext, WebPage } from '../web-page.ts'
import { endForgotten } from './sign-in.ts'

interface NewPassword {
  readonly title: string
  readonly submit: string
  /** Where the form is sent, with the link's token. */
  readonly action: string
  readonly token: string
}

/** The form for a new password that a link leads to. */
export function newPasswordView(
  page: WebPage,
  { title, submit, action, token }: NewPassword,
  state: FormState,
): Html {
  const { fields } = page.texts
  return layout(
    page,
    { title, isNarrow: true },
    html`<h1>${title}</h1>
      ${formProblems(page, state)}
      <div class="card">
        ${form(
          page,
          action,
          html`<input type="hidden" name="token" value="${token}" />
            ${field(state, {
              name: 'newPassword',
              label: fields.newPassword,
              type: 'password',
              hint: fields.passwordHint,
              autocomplete: 'new-password',
            })}
            <button>${submit}</button>`,
        )}
      </div>`,
  )
}

/** Goes on as somebody who has set a new password by a link. */
export async function goOnSignedIn(
  context: PageContext,
  page: WebPage,
  result: SignInResult,
  notice: string,
): Promise<Response> {
  if (result.kind !== 'signed-in' && result.kind !== 'code-needed')
    return seeOther(context, `/sign-in?notice=${notice}`)
  await endForgotten(page)
  const next = `/security?notice=${notice}`
  return result.kind === 'signed-in'
    ? seeOther(context, next, result.cookies)
    : seeOther(context, `/sign-in/code?next=${encodeURIComponent(next)}`, result.cookies)
}
