import { html } from 'hono/html'
import { field, form, formProblems } from '../view/form.ts'
import type { FormState } from '../view/form.ts'
import { layout } from '../view/layout.ts'
import type { Html, WebPage } from '../web-page.ts'

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
