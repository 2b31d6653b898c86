import { z } from 'zod'
import { readForm } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'
import type { SignedInPage, PageContext } from '../../web-page.ts'

const schema = z.object({ id: z.string().max(100) })

/** Ends one of the user's own sessions; the id of another's does nothing. */
export async function submitEndSession(context: PageContext, page: SignedInPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (sent.isValid) await page.site.sessions.endOne(page.caller, sent.value.id)
  return seeOther(context, '/security?notice=session-ended')
}

/** Ends all of the user's sessions but this one. */
export async function submitEndOtherSessions(context: PageContext, page: SignedInPage): Promise<Response> {
  await page.site.sessions.endOthers(page.caller)
  return seeOther(context, '/security?notice=sessions-ended')
}
