import { createMiddleware } from 'hono/factory'
import type { PageEnv } from '../web-page.ts'

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

/** What browsers may do with our pages: load what is ours, stand in no frame, keep nothing. */
export function securityHeaders(isHttps: boolean) {
  return createMiddleware<PageEnv>(async (context, next) => {
    await next()
    const headers: Record<string, string> = {
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // With "no-referrer" browsers would send "Origin: null" with our own forms.
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
