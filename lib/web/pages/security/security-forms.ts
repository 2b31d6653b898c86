import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../../http/read-form.ts'
import { seeOther } from '../../http/redirect.ts'
import type { PageResponse, Html, SignedInPage, PageContext, PageEnv } from '../../web-page.ts'
import type { Hono } from 'hono'
import type { FactorSetup } from '../../sign-in/second-factor.ts'
import { copyButton, emptyForm, field, form, formProblems, type FormState } from '../../view/form.ts'
import { titledPage } from '../../view/layout.ts'
import { qrCode } from '../../view/qr-code.ts'
import { showSecurity, type SecurityForms } from './security.ts'
import { endLinks, withCookies } from '../../sign-in/auth.ts'

const passwordSchema = z.object({
  currentPassword: fieldSchemas.password,
  newPassword: fieldSchemas.newPassword,
})
const ownPasswordSchema = z.object({ password: fieldSchemas.password })
const codeSchema = z.object({ code: fieldSchemas.code, setup: hiddenField(4000) })

/** What the page showed, so that it can be shown again after a wrong code. Only the user's own browser sends it. */
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
      ${qrCode(setup.uri, security.factorImage)}
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
  return titledPage(
    page,
    { title: security.setUpTitle },
    html`${formProblems(page, state)} ${setup === undefined ? '' : secrets(page, setup)}
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

/** Shows the page again with the errors of one of its forms. */
async function refuse(page: SignedInPage, forms: SecurityForms): Promise<PageResponse> {
  // Setting a new password by a link ends this session.
  if ((await page.site.sessions.find(page.caller)) === undefined) return seeOther(page, '/sign-in')
  return page.context.html(await showSecurity(page, forms), 422)
}

/**
 * Performs an action that needs the password again; undefined when the password is wrong. Too many wrong ones lock it
 * for a while.
 */
async function byPassword<T>({ site, session }: SignedInPage, act: () => Promise<T | undefined>) {
  const { passwordAttempts } = site
  const done = (await passwordAttempts.begin(session.user.id)) ? await act() : undefined
  if (done !== undefined) await passwordAttempts.forget(session.user.id)
  return done
}

/** Whether the entered password is the user's. */
export async function isOwnPassword(page: SignedInPage, password: string): Promise<boolean> {
  const isRight = await byPassword(page, async () =>
    (await page.site.sessions.isPassword(page.caller, password)) ? true : undefined,
  )
  return isRight === true
}

/** Changes the password; all other sessions end, and this one continues under a new token. */
async function submitPassword(page: SignedInPage): Promise<PageResponse> {
  const { site, session, caller, language } = page
  const sent = await readForm(page, passwordSchema)
  if (!sent.isValid) return refuse(page, { password: sent.state })
  const { currentPassword, newPassword } = sent.value
  const cookies = await byPassword(page, () =>
    site.sessions.changePassword(caller, currentPassword, newPassword),
  )
  if (cookies === undefined) {
    const password = withError(page, sent.state, 'currentPassword', 'passwordWrong')
    return refuse(page, { password })
  }
  await endLinks(site.users, site.tables, session.user.id)
  // An earlier link or code may have opened a session since the sessions were ended.
  await site.sessions.endOthers(withCookies(caller, cookies))
  site.securityEmails.passwordChanged({ email: session.user.email, language })
  return seeOther(page, '/security?notice=password-changed', cookies)
}

/** Ends one of the user's own sessions; ids of other users' sessions have no effect. */
async function submitEndSession(page: SignedInPage): Promise<PageResponse> {
  const sent = await readForm(page, z.object({ id: z.string().max(100) }))
  if (sent.isValid) await page.site.sessions.endOne(page.caller, sent.value.id)
  return seeOther(page, '/security?notice=session-ended')
}

/** Ends all of the user's sessions except this one. */
async function submitEndOtherSessions(page: SignedInPage): Promise<PageResponse> {
  await page.site.sessions.endOthers(page.caller)
  return seeOther(page, '/security?notice=sessions-ended')
}

/** Handles a request for a page of a signed-in user. */
export type ShowSignedIn = (page: SignedInPage) => PageResponse | Promise<PageResponse>

/** Handles a form with only a password, and runs an action that returns undefined when it is wrong. */
function withPassword<T>(
  form: 'twoFactor' | 'backupCodes',
  act: (page: SignedInPage, password: string) => Promise<T | undefined>,
  response: (page: SignedInPage, done: T) => PageResponse | Promise<PageResponse>,
): ShowSignedIn {
  return async page => {
    const sent = await readForm(page, ownPasswordSchema)
    if (!sent.isValid) return refuse(page, { [form]: sent.state })
    const done = await byPassword(page, () => act(page, sent.value.password))
    return done === undefined
      ? refuse(page, { [form]: withError(page, sent.state, 'password', 'passwordWrong') })
      : response(page, done)
  }
}

/** Checks the password and shows the secret and the backup codes, once. */
const submitTwoFactor = withPassword(
  'twoFactor',
  ({ site, caller }, password) => site.secondFactor.setUp(caller, password),
  (page, setup) =>
    setup === 'on' ? seeOther(page, '/security?notice=two-factor-on') : setUpView(page, setup, emptyForm),
)

/** Switches it on with a first code. */
async function submitTwoFactorCode(page: SignedInPage): Promise<PageResponse> {
  const sent = await readForm(page, codeSchema)
  const setup = shownSetup(sent.state.typed['setup'] ?? '')
  if (!sent.isValid) return page.context.html(setUpView(page, setup, sent.state), 422)
  const { site, session, caller, language } = page
  const cookies = await site.secondFactor.confirm(caller, sent.value.code)
  if (cookies !== undefined) {
    // Sessions opened with the password alone must sign in again with a code.
    await site.sessions.endOthers(withCookies(caller, cookies))
    site.securityEmails.twoFactorChanged({ email: session.user.email, language }, true)
    return seeOther(page, '/security?notice=two-factor-on', cookies)
  }
  const state = withError(page, sent.state, 'code', 'codeWrong')
  return page.context.html(setUpView(page, setup, state), 422)
}

/** Checks the password and switches it off. */
const submitRemoveTwoFactor = withPassword(
  'twoFactor',
  ({ site, caller }, password) => site.secondFactor.remove(caller, password),
  (page, cookies) => {
    const { site, session, language } = page
    site.securityEmails.twoFactorChanged({ email: session.user.email, language }, false)
    return seeOther(page, '/security?notice=two-factor-off', cookies)
  },
)

/** Checks the password and shows new backup codes, once; the previous ones become invalid. */
const submitBackupCodes = withPassword(
  'backupCodes',
  ({ site, caller }, password) => site.secondFactor.newBackupCodes(caller, password),
  (page, made) => {
    if (made === 'off') return seeOther(page, '/security?notice=two-factor-off')
    const { site, session, language } = page
    site.securityEmails.backupCodesMade({ email: session.user.email, language })
    const { security } = page.texts
    return titledPage(
      page,
      { title: security.backupCodes },
      html`<p class="notice" role="status">${security.backupMade}</p>
        ${codes(page, made)}
        <p><a class="button plain" href="/security">${security.title}</a></p>`,
    )
  },
)

/**
 * Adds the pages for the user's password, second factor and sessions.
 * @param signedIn restricts a page to signed-in users
 */
export function routeSecurity(
  router: Hono<PageEnv>,
  signedIn: (show: ShowSignedIn) => (context: PageContext) => Promise<Response>,
): void {
  router.get('/security', signedIn(showSecurity))
  router.post('/security/password', signedIn(submitPassword))
  router.post('/security/sessions/end', signedIn(submitEndSession))
  router.post('/security/sessions/end-others', signedIn(submitEndOtherSessions))
  router.post('/security/two-factor', signedIn(submitTwoFactor))
  router.post('/security/two-factor/confirm', signedIn(submitTwoFactorCode))
  router.post('/security/two-factor/remove', signedIn(submitRemoveTwoFactor))
  router.post('/security/two-factor/backup-codes', signedIn(submitBackupCodes))
}
