import { html } from 'hono/html'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import { languages } from '../../../web/texts/web-texts.ts'
import { emptyForm, field, form, formProblems, notice } from '../../../web/view/form.ts'
import type { FormState } from '../../../web/view/form.ts'
import { layout } from '../../../web/view/layout.ts'
import { choice } from '../../../web/view/form-controls.ts'
import { settingCard } from '../../../web/view/setting-card.ts'
import { roublesTyped } from './roubles-typed.ts'
import { settingsTabs } from './settings-tabs.ts'

/** The forms of the page, each with what was typed into it. */
export interface SettingsForms {
  readonly profile?: FormState
  readonly email?: FormState
  readonly alert?: FormState
}

function profileForm(page: OwnPage, state: FormState): Html {
  const { fields, settings, shell } = page.texts
  const chosen = { ...state, typed: { language: page.language, ...state.typed } }
  return settingCard(
    settings.profile,
    settings.profileHint,
    html`${form(
      page,
      '/settings/profile',
      html`${field(state, { name: 'name', label: fields.name, autocomplete: 'name', isOptional: true })}
        ${choice(chosen, { name: 'language', label: shell.language, options: languages })}
        <div><button>${settings.save}</button></div>`,
    )}`,
  )
}

function emailForm(page: OwnPage, state: FormState): Html {
  const { fields, settings } = page.texts
  return settingCard(
    settings.email,
    settings.emailNow(page.session.user.email),
    html`${form(
      page,
      '/settings/email',
      html`${field(state, {
          name: 'newEmail',
          label: fields.newEmail,
          type: 'email',
          hint: settings.emailHint,
          autocomplete: 'email',
        })}
        ${field(state, {
          name: 'currentPassword',
          label: fields.currentPassword,
          type: 'password',
          autocomplete: 'current-password',
        })}
        <div><button>${settings.changeEmail}</button></div>`,
    )}`,
  )
}

function alertForm(page: OwnPage, state: FormState): Html {
  const { settings } = page.texts
  return settingCard(
    settings.alert,
    settings.alertText,
    html`${form(
      page,
      '/settings/alert',
      html`${field(state, {
          name: 'below',
          label: settings.alertBelow,
          hint: settings.alertHint,
          inputmode: 'decimal',
          isOptional: true,
        })}
        <div><button>${settings.save}</button></div>`,
    )}`,
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

/** The page with its forms, also after one was sent and refused. */
export async function settingsView(page: OwnPage, forms: SettingsForms = {}): Promise<Html> {
  const { settings } = page.texts
  const { user } = page.session
  const below = await page.site.settings.alertBelow(page.account.accountId)
  const profile = forms.profile ?? { typed: { name: user.name }, errors: {} }
  const alert = forms.alert ?? { typed: { below: roublesTyped(below, page.language) }, errors: {} }
  const email = forms.email ?? emptyForm
  return layout(
    page,
    { title: settings.title },
    html`<h1>${settings.title}</h1>
      ${settingsTabs(page)} ${notice(page)} ${[profile, email, alert].map(state => formProblems(page, state))}
      ${profileForm(page, profile)} ${emailForm(page, email)}
      ${page.account.role === 'owner' ? html`${alertForm(page, alert)} ${deletion(page)}` : ''}`,
  )
}

/** Profile, e-mail, alert, and the way out. */
export async function showSettings(context: PageContext, page: OwnPage): Promise<Response> {
  return context.html(await settingsView(page))
}
