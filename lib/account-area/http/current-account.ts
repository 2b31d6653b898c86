import { getCookie } from 'hono/cookie'
import type { CurrentAccount, PageContext, Site } from '../page.ts'

const cookieName = 'account.current'
const year = 365 * 24 * 60 * 60

/** The account that a user acts for: the one that was chosen in this browser, else the oldest. */
export async function currentAccount(
  context: PageContext,
  site: Site,
  userId: string,
): Promise<CurrentAccount | undefined> {
  const accounts = await site.users.memberships(userId)
  const chosen = getCookie(context, cookieName)
  const account = accounts.find(({ accountId }) => accountId === chosen) ?? accounts[0]
  if (account === undefined || accounts.length === 1) return account
  return { ...account, name: await site.members.accountName(account.accountId) }
}

/** The cookie that chooses an account. Whether it is the user's is checked with every request. */
export function accountCookie({ publicUrl }: Site, accountId: string) {
  const secure = publicUrl.protocol === 'https:'
  const options = { httpOnly: true, sameSite: 'Lax', secure, path: '/', maxAge: year } as const
  return { name: cookieName, value: accountId, options }
}
