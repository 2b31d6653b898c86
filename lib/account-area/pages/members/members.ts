import { html } from 'hono/html'
import { z } from 'zod'
import type { Invitation, Member } from '../../../administration/members.ts'
import { mayWrite } from '../../../web/sign-in/attempts.ts'
import { longDay } from '../../../web/format.ts'
import { fieldSchemas, idField, readForm, withError } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { buttonForm, emptyForm, field, formProblems, notice } from '../../../web/view/form.ts'
import { dataTable } from '../../../web/view/data-table.ts'
import { settingForm, titledPage } from '../../../web/view/layout.ts'
import { settingsTabs } from '../../view/account-frame.ts'

const invitationSchema = z.object({ email: fieldSchemas.email })
const memberSchema = z.object({ user: idField })

function memberTable(page: OwnPage, list: readonly Member[]): Html {
  const { members } = page.texts
  const you = html`<span class="badge good">${members.you}</span>`
  const remove = ({ userId, email }: Member): Html =>
    buttonForm(page, {
      action: '/settings/members/remove',
      fields: { user: userId },
      label: members.remove,
      spoken: members.removeOf(email),
      className: 'link',
    })
  return html`<section class="card">
    <h2>${members.people}</h2>
    ${dataTable(
      { label: members.people, empty: '' },
      [
        {
          name: members.person,
          cell: one => html`${one.email} ${one.userId === page.session.user.id ? you : ''}`,
        },
        { name: members.role, cell: one => members[one.role] },
        { name: members.since, cell: one => longDay(one.since, page.language) },
        { name: '', cell: one => (one.role === 'owner' ? '' : remove(one)) },
      ],
      list,
    )}
  </section>`
}

function openInvitations(page: OwnPage, invitations: readonly Invitation[]): Html {
  const { members } = page.texts
  if (invitations.length === 0) return html``
  return html`<section class="card">
    <h2>${members.invitations}</h2>
    <ul class="row-list">
      ${invitations.map(
        ({ email, expiresAt }) =>
          html`<li class="row">
            <span
              >${email}
              <span class="quiet small">${members.openUntil(longDay(expiresAt, page.language))}</span></span
            >
            ${buttonForm(page, {
              action: '/settings/members/withdraw',
              fields: { email },
              label: members.withdraw,
              spoken: members.withdrawOf(email),
              className: 'link',
            })}
          </li>`,
      )}
    </ul>
  </section>`
}

/** The members of the account, and a form to invite an accountant. */
export async function showMembers(page: OwnPage, state = emptyForm): Promise<Html> {
  const { members } = page.texts
  const { accountId } = page.account
  const [list, invitations] = await Promise.all([
    page.site.members.list(accountId),
    page.site.members.invitations({ accountId }),
  ])
  return titledPage(
    page,
    { title: members.title },
    html`${settingsTabs(page)} ${notice(page)} ${formProblems(page, state)} ${memberTable(page, list)}
    ${openInvitations(page, invitations)}
    ${settingForm(
      page,
      { title: members.invite, about: members.inviteText, action: '/settings/members' },
      html`${field(state, {
          name: 'email',
          label: members.email,
          type: 'email',
          hint: members.emailHint,
        })}
        <div><button>${members.send}</button></div>`,
    )}`,
  )
}

/** Invites an accountant by email. */
export async function submitInvitation(page: OwnPage): Promise<PageResponse> {
  const { site, account, session, caller, language } = page
  const sent = await readForm(page, invitationSchema)
  if (!sent.isValid) return page.context.html(await showMembers(page, sent.state), 422)
  const { email } = sent.value
  const result = (await mayWrite(site.attempts, email, caller))
    ? await site.members.invite({ accountId: account.accountId, email, invitedBy: session.user.id })
    : 'tooMany'
  if (result !== 'invited') {
    const key = { member: 'memberAlready', full: 'membersFull', tooMany: 'emailsTooMany' } as const
    return page.context.html(await showMembers(page, withError(page, sent.state, 'email', key[result])), 422)
  }
  // The company's name is arbitrary text that would reach a stranger; the inviter's email is confirmed.
  site.sendInvitation({ email, language }, session.user.email)
  return seeOther(page, '/settings/members?notice=invitation-sent')
}

/** Withdraws an invitation. */
export async function submitWithdrawal(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, invitationSchema)
  if (sent.isValid) await page.site.members.endInvitation(page.account.accountId, sent.value.email)
  return seeOther(page, '/settings/members?notice=invitation-withdrawn')
}

/** Ends the access of a member. */
export async function submitRemoveMember(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, memberSchema)
  if (sent.isValid) await page.site.members.remove(page.account.accountId, sent.value.user)
  return seeOther(page, '/settings/members?notice=member-removed')
}
