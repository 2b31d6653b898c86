import type { Hono } from 'hono'
import type { PageContext, PageEnv, SignedInPage } from '../../web-page.ts'
import { showSecurity, submitPassword } from './security.ts'
import {
  submitBackupCodes,
  submitRemoveTwoFactor,
  submitTwoFactor,
  submitTwoFactorCode,
} from './two-factor.ts'
import { z } from 'zod'
import { readForm } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'

type Show = (context: PageContext, page: SignedInPage) => Response | Promise<Response>

const schema = z.object({ id: z.string().max(100) })

/** Ends one of the user's own sessions; the id of another's does nothing. */
async function submitEndSession(context: PageContext, page: SignedInPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (sent.isValid) await page.site.sessions.endOne(page.caller, sent.value.id)
  return seeOther(context, '/security?notice=session-ended')
}

/** Ends all of the user's sessions but this one. */
async function submitEndOtherSessions(context: PageContext, page: SignedInPage): Promise<Response> {
  await page.site.sessions.endOthers(page.caller)
  return seeOther(context, '/security?notice=sessions-ended')
}

/**
 * Password, second factor and sessions of one's own.
 * @param signedIn opens a page to those who are signed in
 */
export function routeSecurity(
  router: Hono<PageEnv>,
  signedIn: (show: Show) => (context: PageContext) => Response | Promise<Response>,
): void {
  router.get('/security', signedIn(showSecurity))
  router.post('/security/password', signedIn(submitPassword))
  router.post('/security/sessions/end', signedIn(submitEndSession))
  router.post('/security/sessions/end-others', signedIn(submitEndOtherSessions))
  router.post('/security/two-factor', signedIn(submitTwoFactor))
  router.post('/security/two-factor/confirm', signedIn(submitTwoFactorCode))
  router.post('/security/two-factor/remove', signedIn(submitRemoveTwoFactor))
  router.post('/security/two-factor/backup-codes', signedIn(submitBackupCodes))
}
