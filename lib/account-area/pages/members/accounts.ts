import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { z } from 'zod'
import { idField, readForm } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, CurrentAccount, Html, OwnPage } from '../../page.ts'
import { buttonForm, notice } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { keptCookie } from '../../../web/pages/appearance.ts'
import { showFailure } from '../../../web/pages/failure.ts'

const schema = z.object({ account: idField })

const accountCookieName = 'account.current'

/** Adds the name of each account. */
function withNames<One extends { readonly accountId: string }>({ site }: OwnPage, all: readonly One[]) {
  return Promise.all(all.map(async one => ({ ...one, name: await site.members.accountName(one.accountId) })))
}

type AccountAction = 'use' | 'leave' | 'accept' | 'decline'

/** A button for an action on an account. */
function button(page: OwnPage, action: AccountAction, account: { accountId: string; name: string }): Html {
  const { accounts } = page.texts
  const classNames = { use: 'plain', leave: 'link', accept: '', decline: 'link' } as const
  return buttonForm(page, {
    action: `/accounts/${action}`,
    fields: { account: account.accountId },
    label: accounts[action],
    spoken: accounts[`${action}Of`](account.name),
    className: classNames[action],
  })
}

async function ownAccounts(page: OwnPage): Promise<Html> {
  const { site, session, account, texts } = page
  const { text, current } = texts.accounts
  const named = await withNames(page, await site.users.memberships(session.user.id))
  return html`<section class="card">
    <p class="quiet">${text}</p>
    <ul class="row-list">
      ${named.map(
        one =>
          html`<li class="row">
            <span>${one.name} <span class="quiet small">${texts.members[one.role]}</span></span>
            ${
              one.accountId === account.accountId
                ? html`<span class="badge good">${current}</span>`
                : button(page, 'use', one)
            }
            ${one.role === 'owner' ? '' : button(page, 'leave', one)}
          </li>`,
      )}
    </ul>
  </section>`
}

async function invitations(page: OwnPage): Promise<Html> {
  const { site, session, texts } = page
  const open = await withNames(page, await site.members.invitations({ email: session.user.email }))
  if (open.length === 0) return html``
  return html`<section class="card">
    <h2>${texts.accounts.invitations}</h2>
    <ul class="row-list">
      ${open.map(
        one =>
          html`<li class="row">
            <span>${texts.accounts.invited(one.name)}</span>
            ${button(page, 'accept', one)} ${button(page, 'decline', one)}
          </li>`,
      )}
    </ul>
  </section>`
}

/** The accounts of a user, and the invitations to others. */
export async function showAccounts(page: OwnPage): Promise<PageResponse> {
  const { title } = page.texts.accounts
  return titledPage(
    page,
    { title, isNarrow: true },
    html`${notice(page)} ${await invitations(page)} ${await ownAccounts(page)}`,
  )
}

/** The account that a user acts for: the one selected in this browser, else the oldest. */
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

/** The account in a form, if the user has access to it. */
async function namedAccount(page: OwnPage) {
  const sent = await readForm(page, schema)
  const accounts = await page.site.users.memberships(page.session.user.id)
  return sent.isValid ? accounts.find(one => one.accountId === sent.value.account) : undefined
}

/** Stores the choice in a cookie. Each request checks the user's access to the account. */
function useAccount(page: OwnPage, accountId: string): PageResponse {
  setCookie(page.context, accountCookieName, accountId, keptCookie(page.site))
  return seeOther(page, '/')
}

/** Switches to another account of the user. */
export async function submitUseAccount(page: OwnPage): Promise<PageResponse> {
  const account = await namedAccount(page)
  return account === undefined ? showFailure(page, 'notFound') : useAccount(page, account.accountId)
}

/** Gives up the user's access to another owner's account. */
export async function submitLeaveAccount(page: OwnPage): Promise<PageResponse> {
  const account = await namedAccount(page)
  const isLeft =
    account !== undefined && (await page.site.members.remove(account.accountId, page.session.user.id))
  return isLeft ? seeOther(page, '/accounts?notice=account-left') : showFailure(page, 'notFound')
}

/** Accepts an invitation and switches to the account. */
export async function submitAcceptInvitation(page: OwnPage): Promise<PageResponse> {
  const { site, session } = page
  const sent = await readForm(page, schema)
  const isAccepted =
    sent.isValid &&
    session.user.isEmailConfirmed &&
    (await site.members.accept(session.user, sent.value.account))
  return isAccepted ? useAccount(page, sent.value.account) : showFailure(page, 'notFound')
}

export async function submitDeclineInvitation(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, schema)
  if (sent.isValid) await page.site.members.endInvitation(sent.value.account, page.session.user.email)
  return seeOther(page, '/accounts?notice=invitation-declined')
}
