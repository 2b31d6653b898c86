import { html } from 'hono/html'
import { z } from 'zod'
import { forgetUser } from '../../../administration/forget-user.ts'
import { money } from '../../../web/format.ts'
import { fieldSchemas, readForm, withError } from '../../../web/http/read-form.ts'
import { seeOther } from '../../../web/http/redirect.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { checkbox, emptyForm, form, formProblems, passwordField } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { titledPage } from '../../../web/view/layout.ts'
import { isOwnPassword } from '../../../web/pages/security/security-forms.ts'

const schema = z.object({ currentPassword: fieldSchemas.password, understood: z.string().optional() })

function moneyLeft(page: OwnPage, balanceMicros: number): Html {
  const { deletion } = page.texts
  return balanceMicros > 0
    ? html`<div class="notice bad">
        <p><strong>${deletion.money(money(balanceMicros, page.language))}</strong></p>
        <p>${deletion.moneyText(page.account.accountId)}</p>
      </div>`
    : html``
}

async function balanceOf({ site, account }: OwnPage): Promise<number> {
  return (await site.reports.balance(account.accountId))?.balanceMicros ?? 0
}

async function view(page: OwnPage, state: FormState): Promise<Html> {
  const { deletion } = page.texts
  const balanceMicros = await balanceOf(page)
  const understood = { name: 'understood', label: deletion.understood }
  return titledPage(
    page,
    { title: deletion.title, isNarrow: true },
    html`${formProblems(page, state)} ${moneyLeft(page, balanceMicros)}
      <section class="card">
        <h2>${deletion.what}</h2>
        <ul class="points">
          <li>${deletion.keys}</li>
          <li>${deletion.sessions}</li>
          <li>${deletion.data}</li>
          <li>${deletion.ledger}</li>
        </ul>
        ${form(
          page,
          '/settings/delete',
          html`${balanceMicros > 0 ? checkbox(state, understood) : ''}
            ${passwordField(page, state, 'currentPassword')}
            <div class="row">
              <button class="danger">${deletion.submit}</button>
              <a href="/settings">${deletion.cancel}</a>
            </div>`,
        )}
      </section>`,
  )
}

/** Says what deleting means, and asks for the password. */
export async function showDeleteAccount(context: PageContext, page: OwnPage): Promise<Response> {
  return context.html(await view(page, emptyForm))
}

async function revokeKeys({ site, account }: OwnPage): Promise<void> {
  for (const { id, revokedAt } of await site.reports.keys(account.accountId)) {
    if (revokedAt === undefined) await site.accounts.revokeKey(id)
  }
}

/** Revokes the keys, removes the user and writes a last email. */
export async function submitDeleteAccount(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, session, account, caller, language } = page
  const sent = await readForm(context, page, schema)
  if (!sent.isValid) return context.html(await view(page, sent.state), 422)
  const balanceMicros = await balanceOf(page)
  if (balanceMicros > 0 && sent.value.understood !== 'yes') {
    return context.html(await view(page, withError(page, sent.state, 'understood', 'understoodMissing')), 422)
  }
  if (!(await isOwnPassword(page, sent.value.currentPassword))) {
    return context.html(
      await view(page, withError(page, sent.state, 'currentPassword', 'passwordWrong')),
      422,
    )
  }
  await revokeKeys(page)
  // Nothing is charged for an account that is gone.
  await site.autoTopUps.write(site.autoTopUps.unlinkAll(account.accountId, site.clock.now()))
  const isDeletedHere = await forgetUser(site.records, session.user.id)
  // Another window may have made one meanwhile; from now on there is no session to make one in.
  await revokeKeys(page)
  if (isDeletedHere) {
    site.settingsLetters.deleted({ email: session.user.email, language }, account.accountId, balanceMicros)
  }
  return seeOther(context, '/sign-in?notice=account-deleted', await site.sessions.end(caller))
}
