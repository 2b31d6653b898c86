import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { getCookie, setCookie } from 'hono/cookie'
import type { PageContext, WebSite } from '../web-page.ts'

const visitorPattern = /^[\w-]{43}$/

function cookieOptions(site: WebSite) {
  const isSecure = site.publicUrl.protocol === 'https:'
  // With the prefix no other host of the domain can plant one (RFC 6265bis 4.1.3.2).
  return { name: `${isSecure ? '__Host-' : ''}${site.cookiePrefix}.visitor`, isSecure }
}

/** The random mark of a browser, signed in or not; a new one is set when there is none. */
export function visitorMark(context: PageContext, site: WebSite): string {
  const { name, isSecure } = cookieOptions(site)
  const known = getCookie(context, name)
  if (known !== undefined && visitorPattern.test(known)) return known
  const mark = randomBytes(32).toString('base64url')
  setCookie(context, name, mark, { httpOnly: true, sameSite: 'Lax', secure: isSecure, path: '/' })
  return mark
}

/** To whom a form is shown. */
interface FormReader {
  /** The mark of the browser. */
  readonly mark: string
  readonly sessionToken: string | undefined
  /** What of the user's it is for. */
  readonly boundTo: string | undefined
}

/**
 * The token that forms carry. Another session's is refused, and so is one that was for something else of the same user:
 * a page that was open before they changed accounts in another tab.
 */
export function formToken(secret: string, { mark, sessionToken, boundTo }: FormReader): string {
  return createHmac('sha256', secret)
    .update(`form\0${mark}\0${sessionToken ?? ''}\0${boundTo ?? ''}`)
    .digest('base64url')
}

/** Whether a token is the one that is expected, told in a time that says nothing of where they differ. */
export function isSameToken(sent: string, expected: string): boolean {
  const one = Buffer.from(sent)
  const other = Buffer.from(expected)
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Whether a form was sent from a page of this site, as the browser tells. Every browser of today sends `Origin`
 * with a POST; a request that has none comes from no page.
 */
export function isOwnOrigin(context: PageContext, site: WebSite): boolean {
  return context.req.header('origin') === site.publicUrl.origin
}
