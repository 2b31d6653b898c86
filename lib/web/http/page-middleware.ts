import type { BlockList } from 'node:net'
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { getCookie, setCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { addressOf } from '../../http/client-address.ts'
import { readBody } from '../../http/read-body.ts'
import { newId } from '../../platform/new-id.ts'
import { showFailure } from '../pages/failure.ts'
import { chooseLanguage } from '../texts/language.ts'
import type { PageContext, PageEnv, SignedInPage, Theme, WebPage, WebSite } from '../web-page.ts'
import { lookCookies } from '../pages/appearance.ts'
import { ownPath } from './redirect.ts'

function themeOf(text: string | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'system'
}

/** Whether a request may change state, and so must be a form. */
function isForm({ req }: PageContext): boolean {
  return req.method !== 'GET' && req.method !== 'HEAD'
}

/** The path of a page; for a sent form, the page that contained it. */
function shownPath({ req }: PageContext, site: WebSite): string {
  const url = new URL(req.url)
  const referer = req.header('referer')
  const hasReferer = req.method === 'POST' && referer !== undefined && URL.canParse(referer)
  const from = hasReferer ? new URL(referer) : url
  return hasReferer && from.origin !== site.publicUrl.origin
    ? url.pathname
    : ownPath(`${from.pathname}${from.search}`)
}

/** Creates the page of a request before its session is known: the caller and the language. */
export function pageMiddleware(site: WebSite, trusted: BlockList) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const { req } = context
    const requestId = newId()
    context.header('x-request-id', requestId)
    const caller = {
      address: addressOf(context.env.incoming, trusted),
      cookie: req.header('cookie') ?? '',
      userAgent: (req.header('user-agent') ?? '').slice(0, 400),
    }
    const cookieLanguage = getCookie(context, lookCookies(site).language)
    const acceptLanguage = req.header('accept-language')
    const language = chooseLanguage(undefined, cookieLanguage, acceptLanguage)
    // Set first: the failure page for a failing store or an oversized form needs it.
    context.set('page', {
      context,
      site,
      texts: site.textsOf(language),
      language,
      theme: themeOf(getCookie(context, lookCookies(site).theme)),
      csrf: '',
      requestId,
      caller,
      path: shownPath(context, site),
      session: undefined,
    })
    await next()
  })
}

/**
 * Reads the whole form before anything else is decided: a slow upload must not be processed under a session that
 * ended in the meantime. Forms may be chunked, without a length.
 * @param bytesMaxOf the size limit of a path's form
 */
export function formMiddleware(bytesMaxOf: (path: string) => number) {
  return createMiddleware<PageEnv>(async (context, next) => {
    if (!isForm(context)) return next()
    const { req, env } = context
    const formBytesMax = bytesMaxOf(req.path)
    const isTooLong = Number(req.header('content-length') ?? 0) > formBytesMax
    const body = isTooLong ? undefined : await readBody(env.incoming, formBytesMax)
    if (body === undefined) {
      // The rest of the form is not read, so the connection cannot be reused.
      context.header('connection', 'close')
      return showFailure(context.get('page'), 'tooLarge')
    }
    const { method, headers } = req.raw
    req.raw = new Request(req.url, { method, headers, body: new Uint8Array(body) })
    return next()
  })
}

/** What an area adds to a session. */
export interface AreaSession {
  /** Added to the page. */
  readonly more: object
  /** Form tokens are bound to this value, such as the current account, which may change within a session. */
  readonly boundTo?: string | undefined
}

const visitorPattern = /^[\w-]{43}$/

function cookieOptions(site: WebSite) {
  const isSecure = site.publicUrl.protocol === 'https:'
  // With this prefix no other host of the domain can set the cookie (RFC 6265bis 4.1.3.2).
  return { name: `${isSecure ? '__Host-' : ''}${site.cookiePrefix}.visitor`, isSecure }
}

/** The random mark of a browser, signed in or not; a new one is set when there is none. */
function visitorMark({ context, site }: WebPage): string {
  const { name, isSecure } = cookieOptions(site)
  const known = getCookie(context, name)
  if (known !== undefined && visitorPattern.test(known)) return known
  const mark = randomBytes(32).toString('base64url')
  setCookie(context, name, mark, { httpOnly: true, sameSite: 'Lax', secure: isSecure, path: '/' })
  return mark
}

/** The recipient of a form. */
interface FormReader {
  /** The mark of the browser. */
  readonly mark: string
  readonly sessionToken: string | undefined
  /** The value that the token is bound to. */
  readonly boundTo: string | undefined
}

/**
 * The token in forms. The token of another session is rejected, and so is one bound to another value: a page opened
 * before the user changed accounts in another tab.
 */
function formToken(secret: string, { mark, sessionToken, boundTo }: FormReader): string {
  return createHmac('sha256', secret)
    .update(`form\0${mark}\0${sessionToken ?? ''}\0${boundTo ?? ''}`)
    .digest('base64url')
}

/** Compares tokens in constant time. */
function isSameToken(sent: string, expected: string): boolean {
  const one = Buffer.from(sent)
  const other = Buffer.from(expected)
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Whether a form was sent from a page of this site, according to the browser. All current browsers send `Origin` with
 * a POST; a request without it does not come from a page.
 */
function isOwnOrigin({ context, site }: WebPage): boolean {
  return context.req.header('origin') === site.publicUrl.origin
}

/** Looks up what an area adds to a session. */
export type AreaOfSession = (page: SignedInPage) => Promise<AreaSession>

/** Reads the session of a request and what the area adds to it. */
export function sessionMiddleware(areaOf: AreaOfSession) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const { req } = context
    const page = context.get('page')
    const { site } = page
    const session = await site.sessions.find(page.caller)
    for (const cookie of session?.cookies ?? []) context.header('set-cookie', cookie, { append: true })
    const language = chooseLanguage(
      session?.user.language,
      getCookie(context, lookCookies(site).language),
      req.header('accept-language'),
    )
    const found: WebPage = { ...page, language, texts: site.textsOf(language), session }
    const area = session === undefined ? undefined : await areaOf({ ...found, session })
    const csrf = formToken(site.secret, {
      mark: visitorMark(page),
      sessionToken: session?.token,
      boundTo: area?.boundTo,
    })
    context.set('page', { ...found, ...area?.more, csrf })
    await next()
  })
}

/** The fields of a form; empty when the form cannot be parsed. */
async function readFields({ req }: PageContext): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await req.parseBody()
  } catch (error) {
    // The parser throws a TypeError for a truncated body and for a missing boundary.
    if (error instanceof TypeError) return {}
    throw error
  }
}

/** Rejects requests that no form of this site sent: both the browser's `Origin` and the form token must match. */
export const ownFormsOnly = createMiddleware<PageEnv>(async (context, next) => {
  const page = context.get('page')
  if (!isForm(context)) return next()
  const { csrf } = await readFields(context)
  if (!isOwnOrigin(page) || typeof csrf !== 'string' || !isSameToken(csrf, page.csrf))
    return showFailure(page, 'forbidden')
  return next()
})
