import type { BlockList } from 'node:net'
import { getCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { clientAddress } from '../../http/client-address.ts'
import { newId } from '../../new-id.ts'
import type { Page, PageContext, PageEnv, ShowOwnPage, ShowPage, Site, Theme } from '../page.ts'
import { chooseLanguage, textsOf } from '../texts/texts.ts'
import { hasConsented } from '../pages/consents.ts'
import { showFailure } from '../pages/failure.ts'
import { formToken, isOwnOrigin, isSameToken, visitorMark } from './form-token.ts'
import { lookCookies } from './look-cookies.ts'
import { ownPath, seeOther, toSignIn } from './redirect.ts'

function themeOf(text: string | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'system'
}

/** The path of a page; of a form that was sent, the page that it stood on. */
function shownPath({ req }: PageContext, site: Site): string {
  const url = new URL(req.url)
  const referer = req.header('referer')
  const isForm = req.method === 'POST' && referer !== undefined && URL.canParse(referer)
  const from = isForm ? new URL(referer) : url
  return isForm && from.origin !== site.publicUrl.origin
    ? url.pathname
    : ownPath(`${from.pathname}${from.search}`)
}

/** The page of a request: who asks, in which language, with which session. */
export function pageMiddleware(site: Site, trusted: BlockList) {
  return createMiddleware<PageEnv>(async (context, next) => {
    const { req } = context
    const requestId = newId()
    context.header('x-request-id', requestId)
    const remote = context.env.incoming.socket.remoteAddress ?? ''
    const caller = {
      address: clientAddress(remote, req.header('x-forwarded-for'), trusted),
      cookie: req.header('cookie') ?? '',
      userAgent: (req.header('user-agent') ?? '').slice(0, 400),
    }
    const cookieLanguage = getCookie(context, lookCookies.language)
    const acceptLanguage = req.header('accept-language')
    const withoutSession: Page = {
      site,
      texts: textsOf(chooseLanguage(undefined, cookieLanguage, acceptLanguage)),
      language: chooseLanguage(undefined, cookieLanguage, acceptLanguage),
      theme: themeOf(getCookie(context, lookCookies.theme)),
      csrf: '',
      requestId,
      caller,
      path: shownPath(context, site),
      session: undefined,
    }
    // Should the store fail now, there is a page to say so on.
    context.set('page', withoutSession)
    const session = await site.sessions.find(caller)
    for (const cookie of session?.cookies ?? []) context.header('set-cookie', cookie, { append: true })
    const language = chooseLanguage(session?.user.language, cookieLanguage, acceptLanguage)
    const csrf = formToken(site.secret, visitorMark(context, site), session?.token)
    context.set('page', { ...withoutSession, language, texts: textsOf(language), csrf, session })
    await next()
  })
}

/** Refuses what was not sent by a form of ours: both the browser and the form's token must say so. */
export const ownFormsOnly = createMiddleware<PageEnv>(async (context, next) => {
  const page = context.get('page')
  if (context.req.method === 'GET' || context.req.method === 'HEAD') return next()
  const { csrf } = await context.req.parseBody()
  if (!isOwnOrigin(context, page.site) || typeof csrf !== 'string' || !isSameToken(csrf, page.csrf)) {
    return showFailure(context, page, 'forbidden')
  }
  return next()
})

/** A page that anybody may see. */
export function open(show: ShowPage) {
  return (context: PageContext) => show(context, context.get('page'))
}

/** A page for who is signed in; others are sent to sign in first. */
export function ownUnasked(show: ShowOwnPage) {
  return async (context: PageContext) => {
    const page = context.get('page')
    const { session } = page
    if (session === undefined) return toSignIn(context, page)
    const [account] = await page.site.users.memberships(session.user.id)
    if (account === undefined) return showFailure(context, page, 'notFound')
    return show(context, { ...page, session, account })
  }
}

/** A page for who is signed in and has agreed to what must be agreed to; others are sent to do so. */
export function own(show: ShowOwnPage) {
  return ownUnasked(async (context, page) =>
    (await hasConsented(page)) ? show(context, page) : seeOther(context, '/consents'),
  )
}
