import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { z } from 'zod'
import { idField, readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { Answer, CurrentAccount, Html, OwnPage } from '../../page.ts'
import { buttonForm, notice } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { keptCookie } from '../../../web/pages/appearance.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const schema = z.object({ account: idField })

const accountCookieName = 'account.current'

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
export async function showAccounts(page: OwnPage): Promise<Answer> {
  const { title } = page.texts.accounts
  return titledPage(
    page,
    { title, isNarrow: true },
    html`${notice(page)} ${await invitations(page)} ${await ownAccounts(page)}`,
  )
}

/** The account that a user acts for: the one that was chosen in this browser, else the oldest. */
export async function currentAccount({
  context,
  site,
  session,
}: Pick<OwnPage, 'context' | 'site' | 'session'>): Promise<CurrentAccount | undefined> {
  const accounts = await site.users.memberships(session.user.id)
  const chosen = getCookie(context, accountCookieName)
  const account = accounts.find(({ accountId }) => accountId === chosen) ?? accounts[0]
  if (account === undefined || accounts.length === 1) return account
  return { ...account, name: await site.members.accountName(account.accountId) }
}

/** The account that a form names, when it is one of the user's. */
async function namedAccount(page: OwnPage) {
  const sent = await readForm(page, schema)
  const accounts = await page.site.users.memberships(page.session.user.id)
  return sent.isValid ? accounts.find(one => one.accountId === sent.value.account) : undefined
}

/** Keeps the choice in a cookie. Whether the account is the user's is checked with every request. */
function useAccount(page: OwnPage, accountId: string): Answer {
  setCookie(page.context, accountCookieName, accountId, keptCookie(page.site))
  return seeOther(page, '/')
}

/** Shows another account of the user from now on. */
export async function submitUseAccount(page: OwnPage): Promise<Answer> {
  const account = await namedAccount(page)
  return account === undefined ? showFailure(page, 'notFound') : useAccount(page, account.accountId)
}

/** Gives up the access to somebody else's account. */
export async function submitLeaveAccount(page: OwnPage): Promise<Answer> {
  const account = await namedAccount(page)
  const isLeft =
    account !== undefined && (await page.site.members.remove(account.accountId, page.session.user.id))
  return isLeft ? seeOther(page, '/accounts?notice=account-left') : showFailure(page, 'notFound')
}

/** Accepts an invitation and shows the account. */
export async function submitAcceptInvitation(page: OwnPage): Promise<Answer> {
  const { site, session } = page
  const sent = await readForm(page, schema)
  const isAccepted =
    sent.isValid &&
    session.user.isEmailConfirmed &&
    (await site.members.accept(session.user, sent.value.account))
  return isAccepted ? useAccount(page, sent.value.account) : showFailure(page, 'notFound')
}

export async function submitDeclineInvitation(page: OwnPage): Promise<Answer> {
  const sent = await readForm(page, schema)
  if (sent.isValid) await page.site.members.endInvitation(sent.value.account, page.session.user.email)
  return seeOther(page, '/accounts?notice=invitation-declined')
}
