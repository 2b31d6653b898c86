import type { BlockList } from 'node:net'
import { getCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { addressOf } from '../../http/client-address.ts'
import { readBody } from '../../http/read-body.ts'
import { newId } from '../../platform/new-id.ts'
import type { PageContext, PageEnv, ShowOwnPage, ShowPage, Site, Theme } from '../page.ts'
import { chooseLanguage, textsOf } from '../texts/texts.ts'
import { hasConsented } from '../pages/consents.ts'
import { showFailure } from '../pages/failure.ts'
import { currentAccount } from './current-account.ts'
import { formToken, isOwnOrigin, isSameToken, visitorMark } from './form-token.ts'
import { lookCookies } from './look-cookies.ts'
import { ownPath, seeOther, toSignIn } from './redirect.ts'

function themeOf(text: string | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'system'
}

/** Whether a request may change something, and so must be a form. */
function isForm({ req }: PageContext): boolean {
  return req.method !== 'GET' && req.method !== 'HEAD'
}

/** The path of a page; of a form that was sent, the page that it stood on. */
function shownPath({ req }: PageContext, site: Site): string {
  const url = new URL(req.url)
  const referer = req.header('referer')
  const hasReferer = req.method === 'POST' && referer !== undefined && URL.canParse(referer)
  const from = hasReferer ? new URL(referer) : url
  return hasReferer && from.origin !== site.publicUrl.origin
    ? url.pathname
    : ownPath(`${from.pathname}${from.search}`)
}

/** The page of a request, before its session is known: who asks, and in which language. */
export function pageMiddleware(site: Site, trusted: BlockList) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const { req } = context
    const requestId = newId()
    context.header('x-request-id', requestId)
    const caller = {
      address: addressOf(context.env.incoming, trusted),
      cookie: req.header('cookie') ?? '',
      userAgent: (req.header('user-agent') ?? '').slice(0, 400),
    }
    const cookieLanguage = getCookie(context, lookCookies.language)
    const acceptLanguage = req.header('accept-language')
    const language = chooseLanguage(undefined, cookieLanguage, acceptLanguage)
    // Should the store fail, or the form be too long, there is a page to say so on.
    context.set('page', {
      site,
      texts: textsOf(language),
      language,
      theme: themeOf(getCookie(context, lookCookies.theme)),
      csrf: '',
      requestId,
      caller,
      path: shownPath(context, site),
      session: undefined,
      account: undefined,
    })
    await next()
  })
}

/** No form of ours is longer. */
const formBytesMax = 64 * 1024

/**
 * Reads a form whole before anything is decided about it: one that arrives slowly must not outlive the session that
 * it began with. Forms may come in chunks, without a length.
 */
export const formMiddleware = createMiddleware<PageEnv>(async (context, next) => {
  if (!isForm(context)) return next()
  const { req, env } = context
  const isTooLong = Number(req.header('content-length') ?? 0) > formBytesMax
  const body = isTooLong ? undefined : await readBody(env.incoming, formBytesMax)
  if (body === undefined) {
    // What is left of it is not read, so nothing else can follow on the connection.
    context.header('connection', 'close')
    return showFailure(context, context.get('page'), 'tooLarge')
  }
  const { method, headers } = req.raw
  req.raw = new Request(req.url, { method, headers, body: new Uint8Array(body) })
  return next()
})

/** The session of a request, and the account that it is for. */
export const sessionMiddleware = createMiddleware<PageEnv>(async (context, next) => {
  const { req } = context
  const page = context.get('page')
  const { site } = page
  const session = await site.sessions.find(page.caller)
  for (const cookie of session?.cookies ?? []) context.header('set-cookie', cookie, { append: true })
  const language = chooseLanguage(
    session?.user.language,
    getCookie(context, lookCookies.language),
    req.header('accept-language'),
  )
  const account = session && (await currentAccount(context, site, session.user.id))
  const csrf = formToken(site.secret, {
    mark: visitorMark(context, site),
    sessionToken: session?.token,
    accountId: account?.accountId,
  })
  context.set('page', { ...page, language, texts: textsOf(language), csrf, session, account })
  await next()
})

/** The fields of a form; nothing when it is none that can be read. */
async function readFields({ req }: PageContext): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await req.parseBody()
  } catch (error) {
    // What the parser says of a body that breaks off, or names no boundary of its parts.
    if (error instanceof TypeError) return {}
    throw error
  }
}

/** Refuses what was not sent by a form of ours: both the browser and the form's token must say so. */
export const ownFormsOnly = createMiddleware<PageEnv>(async (context, next) => {
  const page = context.get('page')
  if (!isForm(context)) return next()
  const { csrf } = await readFields(context)
  if (!isOwnOrigin(context, page.site) || typeof csrf !== 'string' || !isSameToken(csrf, page.csrf)) {
    return showFailure(context, page, 'forbidden')
  }
  return next()
})

/** A page that anybody may see. */
export function open(show: ShowPage) {
  return (context: PageContext) => show(context, context.get('page'))
}

/** A page for any user that is signed in; others are sent to sign in first. */
export function ownUnasked(show: ShowOwnPage) {
  return async (context: PageContext) => {
    const page = context.get('page')
    const { session, account } = page
    if (session === undefined) return toSignIn(context, page)
    if (account === undefined) return showFailure(context, page, 'notFound')
    return show(context, { ...page, session, account })
  }
}

/**
 * A page for every member of an account, accountants too, once they have agreed to what must be agreed to. Neither keys
 * nor requests may be on it.
 */
export function everyMember(show: ShowOwnPage) {
  return ownUnasked(async (context, page) =>
    (await hasConsented(page)) ? show(context, page) : seeOther(context, '/consents'),
  )
}

/** A page for the owner of an account. */
export function own(show: ShowOwnPage) {
  return everyMember((context, page) => {
    if (page.account.role === 'owner') return show(context, page)
    // Whoever has just signed in is led to what they may see.
    if (context.req.path === '/') return seeOther(context, '/balance')
    return showFailure(context, page, 'ownersOnly')
  })
}
