import { html } from 'hono/html'
import type { PageResponse, Html, OwnPage } from '../../page.ts'
import { languages } from '../../../web/texts/language.ts'
import {
  emptyForm,
  field,
  form,
  formProblems,
  notice,
  choice,
  passwordField,
  checkbox,
  type FormState,
} from '../../../web/view/form.ts'
import { settingCard, settingForm, titledPage } from '../../../web/view/layout.ts'
import { roublesTyped, fieldSchemas, readForm, says, withError } from '../../../web/http/read-form.ts'
import { settingsTabs } from '../../view/account-frame.ts'
import { z } from 'zod'
import { seeOther } from '../../../web/http/redirect.ts'
import { setCookie } from 'hono/cookie'
import { keptCookie, lookCookies } from '../../../web/pages/appearance.ts'
import { isOwnPassword } from '../../../web/pages/security/security-forms.ts'
import { forgetUser } from '../../../administration/forget-user.ts'
import { money } from '../../../web/format.ts'

/** The forms of the page, each with its entered values. */
interface SettingsForms {
  readonly profile?: FormState
  readonly email?: FormState
  readonly alert?: FormState
}

const profileSchema = z.object({
  name: fieldSchemas.name.max(100, says('tooLong')).default(''),
  language: z.enum(['ru', 'en']),
})

const emailSchema = z.object({ newEmail: fieldSchemas.email, currentPassword: fieldSchemas.password })

function profileForm(page: OwnPage, state: FormState): Html {
  const { fields, settings, shell } = page.texts
  const chosen = { ...state, typed: { language: page.language, ...state.typed } }
  return settingForm(
    page,
    { title: settings.profile, about: settings.profileHint, action: '/settings/profile' },
    html`${field(state, { name: 'name', label: fields.name, autocomplete: 'name', isOptional: true })}
      ${choice(chosen, { name: 'language', label: shell.language, options: languages })}
      <div><button>${settings.save}</button></div>`,
  )
}

function emailForm(page: OwnPage, state: FormState): Html {
  const { fields, settings } = page.texts
  return settingForm(
    page,
    { title: settings.email, about: settings.emailNow(page.session.user.email), action: '/settings/email' },
    html`${field(state, {
        name: 'newEmail',
        label: fields.newEmail,
        type: 'email',
        hint: settings.emailHint,
        autocomplete: 'email',
      })}
      ${passwordField(page, state, 'currentPassword')}
      <div><button>${settings.changeEmail}</button></div>`,
  )
}

function alertForm(page: OwnPage, state: FormState): Html {
  const { settings } = page.texts
  return settingForm(
    page,
    { title: settings.alert, about: settings.alertText, action: '/settings/alert' },
    html`${field(state, {
        name: 'below',
        label: settings.alertBelow,
        hint: settings.alertHint,
        inputmode: 'decimal',
        isOptional: true,
      })}
      <div><button>${settings.save}</button></div>`,
  )
}

function deletion(page: OwnPage): Html {
  const { settings } = page.texts
  return settingCard(
    settings.deleteTitle,
    settings.deleteText,
    html`<p class="quiet small">${settings.accountNumber}: <code>${page.account.accountId}</code></p>
      <div><a class="button danger" href="/settings/delete">${settings.deleteLink}</a></div>`,
  )
}

/**
 * Profile, email, low-balance alert, and the link to delete the account; also after one of the forms was rejected.
 */
export async function showSettings(page: OwnPage, forms: SettingsForms = {}): Promise<Html> {
  const { settings } = page.texts
  const { user } = page.session
  const below = await page.site.settings.alertBelow(page.account.accountId)
  const profile = forms.profile ?? { typed: { name: user.name }, errors: {} }
  const alert = forms.alert ?? { typed: { below: roublesTyped(below, page.language) }, errors: {} }
  const email = forms.email ?? emptyForm
  return titledPage(
    page,
    { title: settings.title },
    html`${settingsTabs(page)} ${notice(page)}
    ${[profile, email, alert].map(state => formProblems(page, state))} ${profileForm(page, profile)}
    ${emailForm(page, email)}
    ${page.account.role === 'owner' ? html`${alertForm(page, alert)} ${deletion(page)}` : ''}`,
  )
}

/** Stores the threshold of the low-balance alert; an empty field switches it off. */
export async function submitAlert(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, z.object({ below: fieldSchemas.roubles(page.language) }))
  if (!sent.isValid) return page.context.html(await showSettings(page, { alert: sent.state }), 422)
  const { below } = sent.value
  await page.site.settings.setAlertBelow(page.account.accountId, below)
  return seeOther(page, `/settings?notice=${below === undefined ? 'alert-off' : 'alert-on'}`)
}

/** Stores name and language. */
export async function submitProfile(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, profileSchema)
  if (!sent.isValid) return page.context.html(await showSettings(page, { profile: sent.state }), 422)
  const { name, language } = sent.value
  const { site, session } = page
  const own = { column: 'id', operator: '=', value: session.user.id } as const
  await site.users.update('users', [own], { set: { name, language } })
  setCookie(page.context, lookCookies(page.site).language, language, keptCookie(site))
  return seeOther(page, '/settings?notice=profile-saved')
}

/** Sends an email to the new address. */
export async function submitEmail(page: OwnPage): Promise<PageResponse> {
  const { site, session, caller, language } = page
  const sent = await readForm(page, emailSchema)
  const refuse = async (email: FormState) => page.context.html(await showSettings(page, { email }), 422)
  if (!sent.isValid) return refuse(sent.state)
  const { newEmail, currentPassword } = sent.value
  if (newEmail === session.user.email) return refuse(withError(page, sent.state, 'newEmail', 'emailSame'))
  if (!(await isOwnPassword(page, currentPassword)))
    return refuse(withError(page, sent.state, 'currentPassword', 'passwordWrong'))
  await site.emailChange.ask(session.user, newEmail, language, caller)
  return seeOther(page, '/settings?notice=email-letter-sent')
}

const deletionSchema = z.object({ currentPassword: fieldSchemas.password, understood: z.string().optional() })

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

/** Explains what deleting means, and asks for the password. */
export async function showDeleteAccount(page: OwnPage, state = emptyForm): Promise<Html> {
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

async function revokeKeys({ site, account }: OwnPage): Promise<void> {
  for (const { id, revokedAt } of await site.reports.keys(account.accountId)) {
    if (revokedAt === undefined) await site.accounts.revokeKey(id)
  }
}

/** Revokes the keys, removes the user and sends a last email. */
export async function submitDeleteAccount(page: OwnPage): Promise<PageResponse> {
  const { site, session, account, caller, language } = page
  const sent = await readForm(page, deletionSchema)
  const refuse = async (state: FormState) => page.context.html(await showDeleteAccount(page, state), 422)
  if (!sent.isValid) return refuse(sent.state)
  const balanceMicros = await balanceOf(page)
  if (balanceMicros > 0 && sent.value.understood !== 'yes')
    return refuse(withError(page, sent.state, 'understood', 'understoodMissing'))
  if (!(await isOwnPassword(page, sent.value.currentPassword)))
    return refuse(withError(page, sent.state, 'currentPassword', 'passwordWrong'))
  await revokeKeys(page)
  // A deleted account must not be charged.
  await site.autoTopUps.write(site.autoTopUps.unlinkAll(account.accountId, site.clock.now()))
  const isDeletedHere = await forgetUser(site.records, session.user.id)
  // Another window may have created a key meanwhile; from now on there is no session to do so.
  await revokeKeys(page)
  if (isDeletedHere)
    site.settingsEmails.deleted({ email: session.user.email, language }, account.accountId, balanceMicros)
  return seeOther(page, '/sign-in?notice=account-deleted', await site.sessions.end(caller))
}
