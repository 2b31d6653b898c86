import { setCookie } from 'hono/cookie'
import { z } from 'zod'
import { lookCookie, lookCookies } from '../../../web/http/look-cookies.ts'
import { fieldSchemas, readForm, says } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { OwnPage, PageContext } from '../../page.ts'
import { settingsView } from './settings.ts'

const schema = z.object({
  name: fieldSchemas.name.max(100, says('tooLong')).default(''),
  language: z.enum(['ru', 'en']),
})

/** Keeps name and language. */
export async function submitProfile(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(await settingsView(page, { profile: sent.state }), 422)
  const { name, language } = sent.value
  const { site, session } = page
  const own = { column: 'id', operator: '=', value: session.user.id } as const
  await site.users.update('users', [own], { set: { name, language } })
  setCookie(context, lookCookies(page.site).language, language, lookCookie(site))
  return seeOther(context, '/settings?notice=profile-saved')
}
