import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../http/read-form.ts'
import { ownPath, seeOther } from '../http/redirect.ts'
import type { Answer, Html, WebPage } from '../web-page.ts'
import { emptyForm, field, notice, passwordField, type FormState } from '../view/form.ts'
import { formPage, titledPage } from '../view/layout.ts'
import type { SignInResult } from '../sign-in/identity.ts'

const schema = z.object({
  email: fieldSchemas.email,
  password: fieldSchemas.password,
  next: hiddenField(2000),
})

function view(page: WebPage, next: string, state: FormState, isRefused = false): Html {
  const { fields, signIn } = page.texts
  const above = html`${notice(page)}
  ${isRefused ? html`<p class="notice bad" role="alert">${signIn.refused}</p>` : ''}`
  const { signInHelp } = page.site.frame(page)
  return formPage(
    page,
    { title: signIn.title, action: '/sign-in', state, above, ...(signInHelp && { below: signInHelp }) },
    html`<input type="hidden" name="next" value="${next}" />
      ${field(state, { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' })}
      ${passwordField(page, state, 'password')}
      <button>${signIn.submit}</button>`,
  )
}

export function showSignIn(page: WebPage): Answer | Promise<Answer> {
  const next = ownPath(page.context.req.query('next'))
  return page.session === undefined ? view(page, next, emptyForm) : seeOther(page, next)
}

/** Signs in and goes on to where the user wanted to be. */
export async function submitSignIn(page: WebPage): Promise<Answer> {
  const sent = await readForm(page, schema)
  const next = ownPath(sent.state.typed['next'])
  if (!sent.isValid) return page.context.html(view(page, next, sent.state), 422)
  const { email, password } = sent.value
  const { identity } = page.site
  const result = await identity.signIn(email, password, page.caller)
  switch (result.kind) {
    case 'signed-in':
      await endForgotten(page)
      return seeOther(page, next, result.cookies)
    case 'code-needed':
      await endForgotten(page)
      return seeOther(page, `/sign-in/code?next=${encodeURIComponent(next)}`, result.cookies)
    case 'unconfirmed':
      // Only customers sign up by themselves.
      await identity.resendConfirmation(email, page.caller)
      return seeOther(page, `/check-mail?email=${encodeURIComponent(email)}`)
    case 'refused':
      page.site.log.info({ address: page.caller.address, requestId: page.requestId }, 'a sign-in was refused')
      return page.context.html(view(page, next, sent.state, true), 422)
  }
}

/** The browser forgets the session it had, so nobody should keep it. */
async function endForgotten({ site, session, caller }: WebPage): Promise<void> {
  if (session !== undefined) await site.sessions.end(caller)
}

export async function submitSignOut(page: WebPage): Promise<Answer> {
  return seeOther(page, '/sign-in?notice=signed-out', await page.site.sessions.end(page.caller))
}

const codeSchema = z.object({ code: fieldSchemas.code, next: hiddenField(2000) })

function codeView(page: WebPage, next: string, state: FormState): Html {
  const { fields, secondStep } = page.texts
  const { title, text, submit } = secondStep
  return formPage(
    page,
    { title, action: '/sign-in/code', state, above: html`<p>${text}</p>` },
    html`<input type="hidden" name="next" value="${next}" />
      ${field(state, { name: 'code', label: fields.code, autocomplete: 'one-time-code' })}
      <button>${submit}</button>`,
  )
}

function codeOver(page: WebPage): Html {
  const { secondStep, shell } = page.texts
  return titledPage(
    page,
    { title: secondStep.title, isNarrow: true },
    html`<p class="notice bad" role="alert">${secondStep.over}</p>
      <p><a class="button" href="/sign-in">${shell.signIn}</a></p>`,
  )
}

/** The second step of signing in. */
export function showSecondStep(page: WebPage): Answer | Promise<Answer> {
  return codeView(page, ownPath(page.context.req.query('next')), emptyForm)
}

/** Takes a code of the app, or a backup code. */
export async function submitSecondStep(page: WebPage): Promise<Answer> {
  const sent = await readForm(page, codeSchema)
  const next = ownPath(sent.state.typed['next'])
  if (!sent.isValid) return page.context.html(codeView(page, next, sent.state), 422)
  const result = await page.site.secondFactor.signIn(page.caller, sent.value.code)
  if (result.kind === 'signed-in') return seeOther(page, next, result.cookies)
  if (result.kind === 'over') return page.context.html(codeOver(page), 422)
  return page.context.html(codeView(page, next, withError(page, sent.state, 'code', 'codeWrong')), 422)
}

const newPasswordSchema = z.object({ token: hiddenField(200), newPassword: fieldSchemas.newPassword })

/** The page that a link to set a password leads to. */
interface NewPasswordPage<Page extends WebPage> {
  readonly path: string
  readonly wordsOf: (page: Page) => { readonly title: string; readonly submit: string }
  /** What stands there when the link is of no use any more. */
  readonly deadLink: (page: Page) => Html
  /** Said when the password is set. */
  readonly notice: string
}

/** Shows the form for a new password that a link leads to, and takes it: all sessions end, and one is signed in. */
export function newPasswordPage<Page extends WebPage>(options: NewPasswordPage<Page>) {
  const { path, wordsOf, notice } = options
  const dead = (page: Page) => {
    const { title } = wordsOf(page)
    return page.context.html(titledPage(page, { title, isNarrow: true }, options.deadLink(page)), 410)
  }
  const view = (page: Page, token: string, state: FormState): Html => {
    const { title, submit } = wordsOf(page)
    return formPage(
      page,
      { title, action: path, state },
      html`<input type="hidden" name="token" value="${token}" />
        ${passwordField(page, state, 'newPassword')}
        <button>${submit}</button>`,
    )
  }
  return {
    show: async (page: Page): Promise<Answer> => {
      const token = page.context.req.query('token') ?? ''
      const isGood = await page.site.identity.isResetLink(token)
      return isGood ? view(page, token, emptyForm) : dead(page)
    },
    submit: async (page: Page): Promise<Answer> => {
      const sent = await readForm(page, newPasswordSchema)
      const token = sent.state.typed['token'] ?? ''
      if (!sent.isValid) return page.context.html(view(page, token, sent.state), 422)
      const result = await page.site.identity.resetPassword(token, sent.value.newPassword, page.caller)
      return result === undefined ? dead(page) : goOnSignedIn(page, result, notice)
    },
  }
}

/** Goes on as somebody who has set a new password by a link. */
async function goOnSignedIn(page: WebPage, result: SignInResult, notice: string): Promise<Answer> {
  if (result.kind !== 'signed-in' && result.kind !== 'code-needed')
    return seeOther(page, `/sign-in?notice=${notice}`)
  await endForgotten(page)
  const next = `/security?notice=${notice}`
  return result.kind === 'signed-in'
    ? seeOther(page, next, result.cookies)
    : seeOther(page, `/sign-in/code?next=${encodeURIComponent(next)}`, result.cookies)
}
