import { setCookie } from 'hono/cookie'
import { z } from 'zod'
import { readForm } from '../http/read-form.ts'
import { ownPath, seeOther } from '../http/redirect.ts'
import type { PageResponse, WebPage, WebSite } from '../web-page.ts'

/** Cookies for the appearance of pages; they contain no secrets. */
export function lookCookies({ cookiePrefix }: WebSite) {
  return { language: `${cookiePrefix}.language`, theme: `${cookiePrefix}.theme` }
}

const year = 365 * 24 * 60 * 60

/** Attributes of a cookie that a browser keeps for a year. */
export function keptCookie({ publicUrl }: WebSite) {
  const secure = publicUrl.protocol === 'https:'
  return { httpOnly: true, sameSite: 'Lax', secure, path: '/', maxAge: year } as const
}

const schema = z.object({
  language: z.enum(['ru', 'en']),
  theme: z.enum(['system', 'light', 'dark']),
  next: z.string().max(2000),
})

/** Stores language and theme in cookies; for a signed-in user also the language setting. */
export async function submitAppearance(page: WebPage): Promise<PageResponse> {
  const sent = await readForm(page, schema)
  if (!sent.isValid) return seeOther(page, '/')
  const { language, theme, next } = sent.value
  const { site, context } = page
  const options = keptCookie(site)
  setCookie(context, lookCookies(site).language, language, options)
  setCookie(context, lookCookies(site).theme, theme, options)
  if (page.session !== undefined && page.session.user.language !== language) {
    const own = { column: 'id', operator: '=', value: page.session.user.id } as const
    await site.users.update(site.tables.users, [own], { set: { language } })
  }
  return seeOther(page, ownPath(next))
}
