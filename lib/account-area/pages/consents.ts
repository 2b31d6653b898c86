import { html } from 'hono/html'
import { z } from 'zod'
import { readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import type { Html, OwnPage, PageContext } from '../page.ts'
import { emptyForm, form, formProblems } from '../../web/view/form.ts'
import type { FormState } from '../../web/view/form.ts'
import { layout } from '../../web/view/layout.ts'
import { consentFields, consentSchema, givenConsents } from './sign-up.ts'

const schema = z.object(consentSchema)

function view(page: OwnPage, state: FormState): Html {
  const { consents } = page.texts
  return layout(
    page,
    { title: consents.title, isNarrow: true },
    html`<h1>${consents.title}</h1>
      ${formProblems(page, state)}
      <p>${consents.text}</p>
      <div class="card">
        ${form(page, '/consents', html`${consentFields(page, state)}<button>${consents.submit}</button>`)}
      </div>`,
  )
}

/** Whether a user has agreed to both texts, in whatever version. */
export async function hasConsented({ site, session }: OwnPage): Promise<boolean> {
  const given = new Set((await site.users.consents(session.user.id)).map(({ kind }) => kind))
  return given.has('offer') && given.has('personal-data')
}

/** For users that an operator made: what everybody else agreed to when they signed up. */
export async function showConsents(context: PageContext, page: OwnPage): Promise<Response> {
  return (await hasConsented(page)) ? seeOther(context, '/') : context.html(view(page, emptyForm))
}

/** Keeps the consents. */
export async function submitConsents(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(view(page, sent.state), 422)
  await page.site.users.addConsents(page.session.user.id, givenConsents(page))
  return seeOther(context, '/')
}
