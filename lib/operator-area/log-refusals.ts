import { createMiddleware } from 'hono/factory'
import type { PageEnv } from '../web/web-page.ts'
import type { Page } from './page.ts'

const pathLengthMax = 200
/** What somebody tried who may not, or who came from another page. */
const suspicious: readonly string[] = ['denied', 'forbidden']

/**
 * One line in the log for each request that was refused: a page that the role may not see, a form that came from no page
 * of ours, one with something wrong in it. It has who asked and for what, and nothing of what was typed.
 */
export const logRefusals = createMiddleware<PageEnv>(async (context, next) => {
  await next()
  const { status } = context.res
  const { site, requestId, session, role } = context.get('page') as Page
  // Whoever looks for addresses without being anybody fills no log.
  if (status < 400 || status > 499 || (status === 404 && session === undefined)) return
  const { method, path } = context.req
  const failure = context.get('failure')
  const facts = {
    requestId,
    operator: session?.user.id,
    role,
    method,
    path: path.slice(0, pathLengthMax),
    status,
    failure,
  }
  const level = failure !== undefined && suspicious.includes(failure) ? 'warn' : 'info'
  site.log[level](facts, "a request for an operator's page was refused")
})
