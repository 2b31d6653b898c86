import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'
import type { Html, SignedInPage, PageContext } from '../../web-page.ts'
import type { FactorSetup } from '../../sign-in/second-factor.ts'
import { copyButton } from '../../view/form-controls.ts'
import { emptyForm, field, form, formProblems } from '../../view/form.ts'
import type { FormState } from '../../view/form.ts'
import { layout } from '../../view/layout.ts'
import { qrCode } from '../../view/qr-code.ts'
import { securityView } from './security.ts'

const passwordSchema = z.object({ password: fieldSchemas.password })
const codeSchema = z.object({ code: fieldSchemas.code, setup: hiddenField(4000) })

/** What the page has shown, so that it is shown again when the code was wrong. Only its own reader sends it. */
const setupSchema = z.object({
  uri: z.string().regex(/^otpauth:\/\/totp\/[!-~]+$/),
  secret: z.string().regex(/^[A-Z2-7]{16,128}$/),
  backupCodes: z.array(z.string().regex(/^[\w-]{4,32}$/)).max(20),
})

function shownSetup(text: string): FactorSetup | undefined {
  const json = z.string().transform((value, { issues }) => {
    try {
      return JSON.parse(value) as unknown
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      issues.push({ code: 'custom', message: 'is no JSON', input: value })
      return z.NEVER
    }
  })
  return json.pipe(setupSchema).safeParse(text).data
}

function secrets(page: SignedInPage, setup: FactorSetup): Html {
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
    ${codes(page, setup.backupCodes)}`
}

function codes(page: SignedInPage, backupCodes: readonly string[]): Html {
  const { security } = page.texts
  return html`<section class="card">
    <h2>${security.backupCodes}</h2>
    <p class="quiet">${security.backupHint}</p>
    <pre class="secret" id="backup-codes">${backupCodes.join('\n')}</pre>
    <div>${copyButton(page, 'backup-codes')}</div>
  </section>`
}

function setUpView(page: SignedInPage, setup: FactorSetup | undefined, state: FormState): Html {
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
          html`${setup === undefined ? '' : html`<input type="hidden" name="setup" value="${JSON.stringify(setup)}" />`}
            ${field(state, {
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
export async function submitTwoFactor(context: PageContext, page: SignedInPage): Promise<Response> {
  const { site, session, caller } = page
  const sent = await readForm(context, page, passwordSchema)
  if (!sent.isValid) return context.html(await securityView(page, { twoFactor: sent.state }), 422)
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const setup = mayTry ? await site.secondFactor.setUp(caller, sent.value.password) : undefined
  if (setup === undefined) return wrongPassword(context, page, sent.state)
  await site.passwordAttempts.forget(session.user.id)
  if (setup === 'on') return seeOther(context, '/security?notice=two-factor-on')
  return context.html(setUpView(page, setup, emptyForm))
}

/** Switches it on by a first code. */
export async function submitTwoFactorCode(context: PageContext, page: SignedInPage): Promise<Response> {
  const sent = await readForm(context, page, codeSchema)
  const setup = shownSetup(sent.state.typed['setup'] ?? '')
  if (!sent.isValid) return context.html(setUpView(page, setup, sent.state), 422)
  const { site, session, caller, language } = page
  const others = (await site.sessions.list(caller)).map(({ id }) => id).filter(id => id !== session.id)
  const cookies = await site.secondFactor.confirm(caller, sent.value.code)
  if (cookies !== undefined) {
    // Whoever got in by the password alone must show a code, too.
    await site.sessions.endOf(session.user.id, others)
    site.securityEmails.twoFactorChanged({ email: session.user.email, language }, true)
    return seeOther(context, '/security?notice=two-factor-on', cookies)
  }
  const state = withError(page, sent.state, 'code', 'codeWrong')
  return context.html(setUpView(page, setup, state), 422)
}

/** Takes the password and switches it off. */
export async function submitRemoveTwoFactor(context: PageContext, page: SignedInPage): Promise<Response> {
  const { site, session, caller, language } = page
  const sent = await readForm(context, page, passwordSchema)
  if (!sent.isValid) return context.html(await securityView(page, { twoFactor: sent.state }), 422)
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const cookies = mayTry ? await site.secondFactor.remove(caller, sent.value.password) : undefined
  if (cookies === undefined) return wrongPassword(context, page, sent.state)
  await site.passwordAttempts.forget(session.user.id)
  site.securityEmails.twoFactorChanged({ email: session.user.email, language }, false)
  return seeOther(context, '/security?notice=two-factor-off', cookies)
}

/** Takes the password and shows new backup codes, once; those of before are good no more. */
export async function submitBackupCodes(context: PageContext, page: SignedInPage): Promise<Response> {
  const { site, session, caller, language } = page
  const sent = await readForm(context, page, passwordSchema)
  if (!sent.isValid) return context.html(await securityView(page, { backupCodes: sent.state }), 422)
  const mayTry = await site.passwordAttempts.begin(session.user.id)
  const made = mayTry ? await site.secondFactor.newBackupCodes(caller, sent.value.password) : undefined
  if (made === undefined) {
    const backupCodes = withError(page, sent.state, 'password', 'passwordWrong')
    return context.html(await securityView(page, { backupCodes }), 422)
  }
  await site.passwordAttempts.forget(session.user.id)
  if (made === 'off') return seeOther(context, '/security?notice=two-factor-off')
  site.securityEmails.backupCodesMade({ email: session.user.email, language })
  const { security } = page.texts
  return context.html(
    layout(
      page,
      { title: security.backupCodes },
      html`<h1>${security.backupCodes}</h1>
        <p class="notice" role="status">${security.backupMade}</p>
        ${codes(page, made)}
        <p><a class="button plain" href="/security">${security.title}</a></p>`,
    ),
  )
}

async function wrongPassword(context: PageContext, page: SignedInPage, state: FormState): Promise<Response> {
  const twoFactor = withError(page, state, 'password', 'passwordWrong')
  return context.html(await securityView(page, { twoFactor }), 422)
}
