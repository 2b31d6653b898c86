import type { WebSite } from '../web-page.ts'

/** Cookies of how pages look; nothing secret is in them. */
export function lookCookies({ cookiePrefix }: WebSite) {
  return { language: `${cookiePrefix}.language`, theme: `${cookiePrefix}.theme` }
}

const year = 365 * 24 * 60 * 60

/** How such a cookie is set. */
export function lookCookie({ publicUrl }: WebSite) {
  const secure = publicUrl.protocol === 'https:'
  return { httpOnly: true, sameSite: 'Lax', secure, path: '/', maxAge: year } as const
}
