import type { WebPage } from '../web-page.ts'

/**
 * A path of this site, for coming back to; anything else becomes the start page. Browsers read `//host` and
 * `/\host` as other sites, and drop tabs and line ends before they look.
 */
export function ownPath(text: string | undefined): string {
  if (text === undefined || !/^\/(?![/\\])[!-[\]-~]*$/.test(text)) return '/'
  const here = 'http://here.invalid'
  if (!URL.canParse(text, here)) return '/'
  const url = new URL(text, here)
  return url.origin === here && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/'
}

/** Sends a browser to a page of this site after a form was taken, so that reloading sends nothing twice. */
export function seeOther({ context }: WebPage, path: string, cookies: readonly string[] = []): Response {
  for (const cookie of cookies) context.header('set-cookie', cookie, { append: true })
  return context.redirect(path, 303)
}

/** Sends who is not signed in to do so and come back. */
export function toSignIn(page: WebPage): Response {
  const next =
    page.context.req.method === 'GET' && page.path !== '/' ? `?next=${encodeURIComponent(page.path)}` : ''
  return seeOther(page, `/sign-in${next}`)
}
