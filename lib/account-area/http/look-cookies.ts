import type { Site } from '../page.ts'

/** Cookies of how pages look; nothing secret is in them. */
export const lookCookies = { language: 'account.language', theme: 'account.theme' }

const year = 365 * 24 * 60 * 60

/** How such a cookie is set. */
export function lookCookie({ publicUrl }: Site) {
  const secure = publicUrl.protocol === 'https:'
  return { httpOnly: true, sameSite: 'Lax', secure, path: '/', maxAge: year } as const
}
