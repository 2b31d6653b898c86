import type { WebPage } from '../web-page.ts'

/**
 * A path of this site to return to; anything else becomes the start page. Browsers read `//host` and `/\host` as
 * other sites, and remove tabs and line ends first.
 */
export function ownPath(text: string | undefined): string {
  if (text === undefined || !/^\/(?![/\\])[!-[\]-~]*$/.test(text)) return '/'
  const here = 'http://here.invalid'
  if (!URL.canParse(text, here)) return '/'
  const url = new URL(text, here)
  return url.origin === here && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/'
}

/** Redirects a browser after a form, so that reloading does not submit it again. */
export function seeOther({ context }: WebPage, path: string, cookies: readonly string[] = []): Response {
  for (const cookie of cookies) context.header('set-cookie', cookie, { append: true })
  return context.redirect(path, 303)
}

/** Redirects to the sign-in page, which then returns here. */
export function toSignIn(page: WebPage): Response {
  const next =
    page.context.req.method === 'GET' && page.path !== '/' ? `?next=${encodeURIComponent(page.path)}` : ''
  return seeOther(page, `/sign-in${next}`)
}
