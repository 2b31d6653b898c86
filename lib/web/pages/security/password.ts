import { z } from 'zod'
import { fieldSchemas, readForm, withError } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'
import type { SignedInPage, PageContext } from '../../web-page.ts'
import { endLinks } from '../../sign-in/auth.ts'
import { securityView } from './security.ts'

const schema = z.object({ currentPassword: fieldSchemas.password, newPassword: fieldSchemas.newPassword })

/** Changes the password; every other session ends, and this one goes on under a new token. */
export async function submitPassword(context: PageContext, page: SignedInPage): Promise<Response> {
  const { site, session, caller, language } = page
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(await securityView(page, { password: sent.state }), 422)
  const { currentPassword, newPassword } = sent.value
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const cookies = mayTry
    ? await site.sessions.changePassword(caller, currentPassword, newPassword)
    : undefined
  if (cookies === undefined) {
    const password = withError(page, sent.state, 'currentPassword', 'passwordWrong')
    return context.html(await securityView(page, { password }), 422)
  }
  await site.passwordAttempts.forget(session.user.id)
  await endLinks(site.users, site.tables, session.user.id)
  site.securityEmails.passwordChanged({ email: session.user.email, language })
  return seeOther(context, '/security?notice=password-changed', cookies)
}
