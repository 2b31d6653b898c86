import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { z } from 'zod'
import { idField, readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { CurrentAccount, Html, OwnPage, PageContext, Site } from '../../page.ts'
import { buttonForm, notice } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const schema = z.object({ account: idField })

const accountCookieName = 'account.current'
const year = 365 * 24 * 60 * 60

async function ownAccounts(page: OwnPage): Promise<Html> {
  const { site, session, account, texts } = page
  const memberships = await site.users.memberships(session.user.id)
  const named = await Promise.all(
    memberships.map(async one => ({ ...one, name: await site.members.accountName(one.accountId) })),
  )
  return html`<section class="card">
    <p class="quiet">${texts.accounts.text}</p>
    <ul class="row-list">
      ${named.map(({ accountId, role, name }) => {
        const fields = { account: accountId }
        const { use, useOf, leave, leaveOf, current } = texts.accounts
        return html`<li class="row">
          <span>${name} <span class="quiet small">${texts.members[role]}</span></span>
          ${
            accountId === account.accountId
              ? html`<span class="badge good">${current}</span>`
              : buttonForm(page, {
                  action: '/accounts/use',
                  fields,
                  label: use,
                  spoken: useOf(name),
                  className: 'plain',
                })
          }
          ${
            role === 'owner'
              ? ''
              : buttonForm(page, {
                  action: '/accounts/leave',
                  fields,
                  label: leave,
                  spoken: leaveOf(name),
                  className: 'link',
                })
          }
        </li>`
      })}
    </ul>
  </section>`
}

async function invitations(page: OwnPage): Promise<Html> {
  const { site, session, texts } = page
  const open = await site.members.invitations({ email: session.user.email })
  if (open.length === 0) return html``
  const named = await Promise.all(
    open.map(async one => ({ ...one, name: await site.members.accountName(one.accountId) })),
  )
  const { accept, acceptOf, decline, declineOf, invited } = texts.accounts
  return html`<section class="card">
    <h2>${texts.accounts.invitations}</h2>
    <ul class="row-list">
      ${named.map(
        ({ accountId, name }) =>
          html`<li class="row">
            <span>${invited(name)}</span>
            ${buttonForm(page, {
              action: '/accounts/accept',
              fields: { account: accountId },
              label: accept,
              spoken: acceptOf(name),
            })}
            ${buttonForm(page, {
              action: '/accounts/decline',
              fields: { account: accountId },
              label: decline,
              spoken: declineOf(name),
              className: 'link',
            })}
          </li>`,
      )}
    </ul>
  </section>`
}

/** The accounts of a user, and the invitations to others. */
export async function showAccounts(context: PageContext, page: OwnPage): Promise<Response> {
  const { title } = page.texts.accounts
  return context.html(
    titledPage(
      page,
      { title, isNarrow: true },
      html`${notice(page)} ${await invitations(page)} ${await ownAccounts(page)}`,
    ),
  )
}

/** The account that a user acts for: the one that was chosen in this browser, else the oldest. */
export async function currentAccount(
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

/** The account that a form names, when it is one of the user's. */
async function namedAccount(context: PageContext, page: OwnPage) {
  const sent = await readForm(context, page, schema)
  const accounts = await page.site.users.memberships(page.session.user.id)
  return sent.isValid ? accounts.find(one => one.accountId === sent.value.account) : undefined
}

/** Keeps the choice in a cookie. Whether the account is the user's is checked with every request. */
function useAccount(context: PageContext, { site }: OwnPage, accountId: string): Response {
  const secure = site.publicUrl.protocol === 'https:'
  setCookie(context, accountCookieName, accountId, {
    httpOnly: true,
    sameSite: 'Lax',
    secure,
    path: '/',
    maxAge: year,
  })
  return seeOther(context, '/')
}

/** Shows another account of the user from now on. */
export async function submitUseAccount(context: PageContext, page: OwnPage): Promise<Response> {
  const account = await namedAccount(context, page)
  return account === undefined
    ? showFailure(context, page, 'notFound')
    : useAccount(context, page, account.accountId)
}

/** Gives up the access to somebody else's account. */
export async function submitLeaveAccount(context: PageContext, page: OwnPage): Promise<Response> {
  const account = await namedAccount(context, page)
  const isLeft =
    account !== undefined && (await page.site.members.remove(account.accountId, page.session.user.id))
  return isLeft ? seeOther(context, '/accounts?notice=account-left') : showFailure(context, page, 'notFound')
}

/** Accepts an invitation and shows the account. */
export async function submitAcceptInvitation(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, session } = page
  const sent = await readForm(context, page, schema)
  const isAccepted =
    sent.isValid &&
    session.user.isEmailConfirmed &&
    (await site.members.accept(session.user, sent.value.account))
  return isAccepted ? useAccount(context, page, sent.value.account) : showFailure(context, page, 'notFound')
}

export async function submitDeclineInvitation(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, schema)
  if (sent.isValid) await page.site.members.endInvitation(sent.value.account, page.session.user.email)
  return seeOther(context, '/accounts?notice=invitation-declined')
}
