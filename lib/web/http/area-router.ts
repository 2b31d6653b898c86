import type { BlockList } from 'node:net'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { StoreError } from '../../stores/shared/store-queries.ts'
import { submitAppearance } from '../pages/appearance.ts'
import { showFailure } from '../pages/failure.ts'
import {
  showSecondStep,
  showSignIn,
  submitSecondStep,
  submitSignIn,
  submitSignOut,
} from '../pages/sign-in.ts'
import type { PageResponse, PageContext, PageEnv, WebPage, WebSite } from '../web-page.ts'
import { formMiddleware, ownFormsOnly, pageMiddleware, sessionMiddleware } from './page-middleware.ts'
import type { AreaOfSession } from './page-middleware.ts'

interface AreaRouterOptions {
  readonly site: WebSite
  readonly trusted: BlockList
  readonly areaOfSession: AreaOfSession
  /** Size limits of forms that are longer than the others, by path. */
  readonly longForms?: Readonly<Record<string, number>>
  /** Adds routes that are no pages: they have neither session nor form token. */
  readonly addPlain?: (router: Hono<PageEnv>) => void
  /** Adds middleware and routes that run before forms are read. */
  readonly addEarly?: (router: Hono<PageEnv>) => void
  /** Logged when a page fails. */
  readonly failureText: string
}

const formBytesMax = 64 * 1024

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** Response headers for pages: only own resources, no framing, no caching. */
function securityHeaders(isHttps: boolean) {
  return createMiddleware<PageEnv>(async (context, next) => {
    await next()
    const headers: Record<string, string> = {
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // With "no-referrer", browsers would send "Origin: null" with the site's own forms.
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    }
    if (isHttps) headers['strict-transport-security'] = 'max-age=31536000'
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store')
  })
}

/** A router with what every area shares: assets, middleware, sign-in and failure pages. */
export function areaRouter({
  site,
  trusted,
  areaOfSession,
  longForms = {},
  addPlain,
  addEarly,
  failureText,
}: AreaRouterOptions): Hono<PageEnv> {
  const router = new Hono<PageEnv>()
  router.use(securityHeaders(site.publicUrl.protocol === 'https:'))
  for (const asset of Object.values(site.assets)) {
    router.get(asset.path, context =>
      context.body(asset.body, 200, {
        'content-type': asset.type,
        'cache-control': 'public, max-age=31536000, immutable',
      }),
    )
  }
  addPlain?.(router)
  router.use(pageMiddleware(site, trusted))
  addEarly?.(router)
  router.use(formMiddleware(path => longForms[path] ?? formBytesMax))
  router.use(sessionMiddleware(areaOfSession))
  router.use(ownFormsOnly)

  router.get('/sign-in', open(showSignIn)).post(open(submitSignIn))
  router.get('/sign-in/code', open(showSecondStep)).post(open(submitSecondStep))
  router.post('/sign-out', open(submitSignOut))
  router.post('/appearance', open(submitAppearance))

  router.notFound(context => showFailure(context.get('page'), 'notFound'))
  router.onError((error, context) => {
    const page = context.get('page') as WebPage | undefined
    site.log.error({ error, requestId: page?.requestId }, failureText)
    // A route that is no page, such as notifications: the sender retries.
    if (page === undefined) return context.text('', 500)
    const isStoreOut = error instanceof LedgerUnavailableError || error instanceof StoreError
    return showFailure(page, isStoreOut ? 'unavailable' : 'internal')
  })
  return router
}

/** A page without sign-in; its type is the one that the area's own middleware creates. */
export function open(show: (page: never) => PageResponse | Promise<PageResponse>) {
  return async (context: PageContext): Promise<Response> => {
    const response = await show(context.get('page') as never)
    return response instanceof Response ? response : context.html(response)
  }
}
