import { html } from 'hono/html'
import { time } from '../../format.ts'
import type { Html, SignedInPage } from '../../web-page.ts'
import type { ListedSession } from '../../sign-in/sessions.ts'
import { dataTable, type Column } from '../../view/data-table.ts'
import { emptyForm, form, formProblems, notice, passwordField } from '../../view/form.ts'
import type { FormState } from '../../view/form.ts'
import { settingForm, titledPage } from '../../view/layout.ts'

/** The forms of the page, each with its entered values. */
export interface SecurityForms {
  readonly password?: FormState
  readonly twoFactor?: FormState
  readonly backupCodes?: FormState
}

/** Browsers and systems in user agents, the more specific first: most user agents name several. */
const browsers = [
  ['YaBrowser', 'Яндекс Браузер'],
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const
const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

function passwordForm(page: SignedInPage, state: FormState): Html {
  const { security } = page.texts
  return settingForm(
    page,
    { title: security.password, about: security.passwordHint, action: '/security/password' },
    html`<input type="hidden" name="username" autocomplete="username" value="${page.session.user.email}" />
      ${passwordField(page, state, 'currentPassword')} ${passwordField(page, state, 'newPassword')}
      <div><button>${security.changePassword}</button></div>`,
  )
}

function twoFactorForm(page: SignedInPage, state: FormState): Html {
  const { fields, security } = page.texts
  const { hasTwoFactor } = page.session.user
  return settingForm(
    page,
    {
      title: html`${security.twoFactor}
      ${hasTwoFactor ? html`<span class="badge good">${security.on}</span>` : ''}`,
      about: hasTwoFactor ? security.twoFactorOn : security.twoFactorOff,
      action: hasTwoFactor ? '/security/two-factor/remove' : '/security/two-factor',
    },
    html`${passwordField(page, state, 'password', { label: fields.currentPassword })}
      <div>
        ${
          hasTwoFactor
            ? html`<button class="danger">${security.remove}</button>`
            : html`<button>${security.setUp}</button>`
        }
      </div>`,
  )
}

/** The form that replaces lost or used backup codes. */
function backupCodesForm(page: SignedInPage, state: FormState): Html {
  const { fields, security } = page.texts
  if (!page.session.user.hasTwoFactor) return html``
  return settingForm(
    page,
    { title: security.backupCodes, about: security.backupAgain, action: '/security/two-factor/backup-codes' },
    html`${passwordField(page, state, 'password', { label: fields.currentPassword, id: 'backup-password' })}
      <div><button class="plain">${security.makeBackupCodes}</button></div>`,
  )
}

function sessionTable(page: SignedInPage, sessions: readonly ListedSession[]): Html {
  const { security } = page.texts
  const nameOf = ({ userAgent }: ListedSession): string => deviceName(userAgent, security.unknownDevice)
  const isThis = ({ id }: ListedSession): boolean => id === page.session.id
  const badge = html`<span class="badge good">${security.thisSession}</span>`
  const end = (session: ListedSession): Html =>
    html`<input type="hidden" name="id" value="${session.id}" />
      <button class="link" aria-label="${security.endSessionOf(nameOf(session))}">
        ${security.endSession}
      </button>`
  const columns: readonly Column<ListedSession>[] = [
    { name: security.device, cell: one => html`${nameOf(one)} ${isThis(one) ? badge : ''}` },
    { name: security.address, cell: one => html`<span class="mono">${one.address}</span>` },
    { name: security.signedIn, cell: one => time(one.signedInAt, page.language) },
    {
      name: '',
      cell: one => (isThis(one) ? '' : form(page, '/security/sessions/end', end(one), { className: '' })),
    },
  ]
  return html`<section class="card">
    <h2>${security.sessions}</h2>
    ${dataTable({ label: security.sessions, empty: '' }, columns, sessions)}
    ${
      sessions.length > 1
        ? form(
            page,
            '/security/sessions/end-others',
            html`<button class="plain">${security.endOthers}</button>`,
          )
        : ''
    }
  </section>`
}

/** Shows password, second factor and sessions; also after one of the forms was rejected. */
export async function showSecurity(page: SignedInPage, forms: SecurityForms = {}): Promise<Html> {
  const { security } = page.texts
  const { password = emptyForm, twoFactor = emptyForm, backupCodes = emptyForm } = forms
  const sessions = await page.site.sessions.list(page.caller)
  return titledPage(
    page,
    { title: security.title },
    html`${page.site.frame(page).settingsTabs ?? ''}
    ${notice(page)}${formProblems(page, password)}${formProblems(page, twoFactor)}${formProblems(page, backupCodes, 'backup-')}
    ${passwordForm(page, password)}${twoFactorForm(page, twoFactor)}${backupCodesForm(page, backupCodes)}${sessionTable(page, sessions)}`,
  )
}

/** `Firefox, Linux` from a user agent; the whole text where it is unknown. */
export function deviceName(userAgent: string, unknown: string): string {
  const parts = [browsers, systems]
    .map(names => names.find(([word]) => userAgent.includes(word))?.[1])
    .filter(part => part !== undefined)
  if (parts.length > 0) return parts.join(', ')
  return userAgent === '' ? unknown : userAgent.slice(0, 80)
}
