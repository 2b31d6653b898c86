import type { SignedInPage } from '../../web/web-page.ts'
import { seeOther, toSignIn } from '../../web/http/redirect.ts'
import type { AreaSession } from '../../web/http/page-middleware.ts'
import { showFailure } from '../../web/pages/failure.ts'
import type { Page, ShowOwnPage, CurrentAccount, PageContext, Site } from '../page.ts'
import { hasConsented } from '../pages/sign-up.ts'
import { getCookie } from 'hono/cookie'

const accountCookieName = 'account.current'
const year = 365 * 24 * 60 * 60

/** The page of a request: the middleware of this area has made it. */
function pageOf(context: PageContext): Page {
  return context.get('page') as Page
}

/** The account that a session acts for; its forms are good for no other. */
export async function accountOfSession(context: PageContext, page: SignedInPage): Promise<AreaSession> {
  const account = await currentAccount(context, pageOf(context).site, page.session.user.id)
  return { more: { account }, boundTo: account?.accountId }
}

/** A page for any user that is signed in; others are sent to sign in first. */
export function ownUnasked(show: ShowOwnPage) {
  return async (context: PageContext) => {
    const page = pageOf(context)
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
    return showFailure(context, page, 'denied')
  })
}

/** The account that a user acts for: the one that was chosen in this browser, else the oldest. */
async function currentAccount(
  context: PageContext,
  site: Site,
  userId: string,
): Promise<CurrentAccount | undefined> {
  const accounts = await site.users.memberships(userId)
  const chosen = getCookie(context, accountCookieName)
  const account = accounts.find(({ accountId }) => accountId === chosen) ?? accounts[0]
  if (account === undefined || accounts.length === 1) return account
  return { ...account, name: await site.members.accountName(account.accountId) }
}

/** The cookie that chooses an account. Whether it is the user's is checked with every request. */
export function accountCookie({ publicUrl }: Site, accountId: string) {
  const secure = publicUrl.protocol === 'https:'
  const options = { httpOnly: true, sameSite: 'Lax', secure, path: '/', maxAge: year } as const
  return { name: accountCookieName, value: accountId, options }
}
