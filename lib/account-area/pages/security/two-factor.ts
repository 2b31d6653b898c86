import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, readForm, withError } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'
import type { Html, OwnPage, PageContext } from '../../page.ts'
import type { FactorSetup } from '../../sign-in/second-factor.ts'
import { copyButton } from '../../view/copy-button.ts'
import { emptyForm, field, form, formProblems } from '../../view/form.ts'
import type { FormState } from '../../view/form.ts'
import { layout } from '../../view/layout.ts'
import { qrCode } from '../../view/qr-code.ts'
import { securityView } from './security.ts'

const passwordSchema = z.object({ password: fieldSchemas.password })
const codeSchema = z.object({ code: fieldSchemas.code })

function secrets(page: OwnPage, setup: FactorSetup): Html {
  const { security, shell } = page.texts
  return html`<section class="card">
      <p>${security.setUpApp}</p>
      ${qrCode(setup.uri, security.factorPicture)}
      <h2>${security.secret}</h2>
      <p class="secret" id="factor-secret">${setup.secret}</p>
      <div class="row">
        ${copyButton(page, 'factor-secret')}
        <a class="button plain" href="${setup.uri}">${shell.opensApp}</a>
      </div>
    </section>
    <section class="card">
      <h2>${security.backupCodes}</h2>
      <p class="quiet">${security.backupHint}</p>
      <pre class="secret" id="backup-codes">${setup.backupCodes.join('\n')}</pre>
      <div>${copyButton(page, 'backup-codes')}</div>
    </section>`
}

function setUpView(page: OwnPage, setup: FactorSetup | undefined, state: FormState): Html {
  const { fields, security } = page.texts
  return layout(
    page,
    { title: security.setUpTitle },
    html`<h1>${security.setUpTitle}</h1>
      ${formProblems(page, state)} ${setup === undefined ? '' : secrets(page, setup)}
      <section class="card">
        <p>${security.confirmHint}</p>
        ${form(
          page,
          '/security/two-factor/confirm',
          html`${field(state, {
              name: 'code',
              label: fields.code,
              autocomplete: 'one-time-code',
              inputmode: 'numeric',
            })}
            <div class="row">
              <button>${security.confirm}</button>
              ${setup === undefined ? html`<a href="/security">${security.startAgain}</a>` : ''}
            </div>`,
        )}
      </section>`,
  )
}

/** Takes the password and shows the secret and the backup codes, once. */
export async function submitTwoFactor(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, session, caller } = page
  const sent = await readForm(context, page, passwordSchema)
  if (!sent.isValid) return context.html(await securityView(page, { twoFactor: sent.state }), 422)
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const setup = mayTry ? await site.secondFactor.setUp(caller, sent.value.password) : undefined
  if (setup === undefined) return wrongPassword(context, page, sent.state)
  site.passwordAttempts.succeed(session.user.id)
  if (setup === 'on') return seeOther(context, '/security?notice=two-factor-on')
  return context.html(setUpView(page, setup, emptyForm))
}

/** Switches it on by a first code. */
export async function submitTwoFactorCode(context: PageContext, page: OwnPage): Promise<Response> {
  const sent = await readForm(context, page, codeSchema)
  if (!sent.isValid) return context.html(setUpView(page, undefined, sent.state), 422)
  const { site, session, caller, language } = page
  const others = (await site.sessions.list(caller)).map(({ id }) => id).filter(id => id !== session.id)
  const cookies = await site.secondFactor.confirm(caller, sent.value.code)
  if (cookies !== undefined) {
    // Whoever got in by the password alone must show a code, too.
    await site.users.delete('user_sessions', [
      { column: 'user_id', operator: '=', value: session.user.id },
      { column: 'id', operator: 'in', value: others },
    ])
    site.settingsLetters.twoFactorChanged({ email: session.user.email, language }, true)
    return seeOther(context, '/security?notice=two-factor-on', cookies)
  }
  const state = withError(page, sent.state, 'code', 'codeWrong')
  return context.html(setUpView(page, undefined, state), 422)
}

/** Takes the password and switches it off. */
export async function submitRemoveTwoFactor(context: PageContext, page: OwnPage): Promise<Response> {
  const { site, session, caller, language } = page
  const sent = await readForm(context, page, passwordSchema)
  if (!sent.isValid) return context.html(await securityView(page, { twoFactor: sent.state }), 422)
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const cookies = mayTry ? await site.secondFactor.remove(caller, sent.value.password) : undefined
  if (cookies === undefined) return wrongPassword(context, page, sent.state)
  site.passwordAttempts.succeed(session.user.id)
  site.settingsLetters.twoFactorChanged({ email: session.user.email, language }, false)
  return seeOther(context, '/security?notice=two-factor-off', cookies)
}

async function wrongPassword(context: PageContext, page: OwnPage, state: FormState): Promise<Response> {
  const twoFactor = withError(page, state, 'password', 'passwordWrong')
  return context.html(await securityView(page, { twoFactor }), 422)
}
