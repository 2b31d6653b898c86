import type { Hono } from 'hono'
import type { PageContext, PageEnv, SignedInPage } from '../../web-page.ts'
import { submitPassword } from './password.ts'
import { showSecurity } from './security.ts'
import { submitEndOtherSessions, submitEndSession } from './sessions.ts'
import {
  submitBackupCodes,
  submitRemoveTwoFactor,
  submitTwoFactor,
  submitTwoFactorCode,
} from './two-factor.ts'

type Show = (context: PageContext, page: SignedInPage) => Response | Promise<Response>

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
