import { html } from 'hono/html'
import { z } from 'zod'
import { fieldSchemas, hiddenField, readForm, withError } from '../http/read-form.ts'
import { ownPath, seeOther } from '../http/redirect.ts'
import type { PageResponse, Html, WebPage } from '../web-page.ts'
import { askedForm, emailField, field, hidden, notice, passwordField, refusal } from '../view/form.ts'
import type { FormState } from '../view/form.ts'
import { formPage, messagePage, titledPage } from '../view/layout.ts'
import type { RightPassword } from '../sign-in/identity.ts'

const schema = z.object({
  email: fieldSchemas.email,
  password: fieldSchemas.password,
  next: hiddenField(2000),
})

/** The page that the user requested before signing in. */
function nextPath({ typed }: FormState): string {
  return ownPath(typed['next'])
}

function view(page: WebPage, state: FormState, refused?: string): Html {
  const { signIn } = page.texts
  const { signInHelp } = page.site.frame(page)
  const above = html`${notice(page)} ${refusal(refused)}`
  return formPage(
    page,
    { title: signIn.title, action: '/sign-in', state, above, ...(signInHelp && { below: signInHelp }) },
    html`${hidden({ typed: { next: nextPath(state) } }, 'next')} ${emailField(page, state)}
      ${passwordField(page, state, 'password')} <button>${signIn.submit}</button>`,
  )
}

export function showSignIn(page: WebPage): PageResponse {
  const state = askedForm(page, 'next')
  return page.session === undefined ? view(page, state) : seeOther(page, nextPath(state))
}

/** Signs in and redirects to the requested page. */
export async function submitSignIn(page: WebPage): Promise<PageResponse> {
  const sent = await readForm(page, schema)
  if (!sent.isValid) return page.context.html(view(page, sent.state), 422)
  const { email, password } = sent.value
  const { identity } = page.site
  const result = await identity.signIn(email, password, page.caller)
  switch (result.kind) {
    case 'signed-in':
    case 'code-needed':
      return goOn(page, result, nextPath(sent.state))
    case 'unconfirmed':
      // Only customers can sign up by themselves.
      await identity.resendConfirmation(email, page.caller)
      return seeOther(page, `/check-mail?email=${encodeURIComponent(email)}`)
    case 'refused':
      page.site.log.info({ address: page.caller.address, requestId: page.requestId }, 'a sign-in was refused')
      return page.context.html(view(page, sent.state, page.texts.signIn.refused), 422)
  }
}

/** Continues after a correct password: to a page, or first to the code. */
async function goOn(page: WebPage, { kind, cookies }: RightPassword, next: string): Promise<Response> {
  // The browser replaces its previous session's cookie, so that session ends.
  if (page.session !== undefined) await page.site.sessions.end(page.caller)
  return seeOther(
    page,
    kind === 'signed-in' ? next : `/sign-in/code?next=${encodeURIComponent(next)}`,
    cookies,
  )
}

export async function submitSignOut(page: WebPage): Promise<PageResponse> {
  return seeOther(page, '/sign-in?notice=signed-out', await page.site.sessions.end(page.caller))
}

const codeSchema = z.object({ code: fieldSchemas.code, next: hiddenField(2000) })

/** Shows the second step of signing in. */
export function showSecondStep(page: WebPage, state = askedForm(page, 'next')): Html {
  const { fields, secondStep } = page.texts
  const { title, text, submit } = secondStep
  return formPage(
    page,
    { title, action: '/sign-in/code', state, above: html`<p>${text}</p>` },
    html`${hidden({ typed: { next: nextPath(state) } }, 'next')}
      ${field(state, { name: 'code', label: fields.code, autocomplete: 'one-time-code' })}
      <button>${submit}</button>`,
  )
}

/** Checks a code of the app, or a backup code. */
export async function submitSecondStep(page: WebPage): Promise<PageResponse> {
  const { site, caller, context, texts } = page
  const sent = await readForm(page, codeSchema)
  if (!sent.isValid) return context.html(showSecondStep(page, sent.state), 422)
  const result = await site.secondFactor.signIn(caller, sent.value.code)
  if (result.kind === 'signed-in') return seeOther(page, nextPath(sent.state), result.cookies)
  if (result.kind === 'wrong')
    return context.html(showSecondStep(page, withError(page, sent.state, 'code', 'codeWrong')), 422)
  const { title, over } = texts.secondStep
  const message = { title, text: refusal(over), path: '/sign-in', label: texts.shell.signIn }
  return context.html(messagePage(page, message), 422)
}

const newPasswordSchema = z.object({ token: hiddenField(200), newPassword: fieldSchemas.newPassword })

/** The page of a link to set a password. */
interface NewPasswordPage<Page extends WebPage> {
  readonly path: string
  readonly wordsOf: (page: Page) => { readonly title: string; readonly submit: string }
  /** Shown when the link is invalid or expired. */
  readonly deadLink: (page: Page) => Html
  /** Shown when the password is set. */
  readonly notice: string
}

/** Shows the form for a new password and handles it: all sessions end, and the user is signed in. */
export function newPasswordPage<Page extends WebPage>(options: NewPasswordPage<Page>) {
  const { path, wordsOf, notice } = options
  const dead = (page: Page) => {
    const { title } = wordsOf(page)
    return page.context.html(titledPage(page, { title, isNarrow: true }, options.deadLink(page)), 410)
  }
  const view = (page: Page, state: FormState): Html => {
    const { title, submit } = wordsOf(page)
    return formPage(
      page,
      { title, action: path, state },
      html`${hidden(state, 'token')} ${passwordField(page, state, 'newPassword')} <button>${submit}</button>`,
    )
  }
  return {
    show: async (page: Page): Promise<PageResponse> => {
      const isGood = await page.site.identity.isResetLink(page.context.req.query('token') ?? '')
      return isGood ? view(page, askedForm(page, 'token')) : dead(page)
    },
    submit: async (page: Page): Promise<PageResponse> => {
      const sent = await readForm(page, newPasswordSchema)
      if (!sent.isValid) return page.context.html(view(page, sent.state), 422)
      const token = sent.state.typed['token'] ?? ''
      const result = await page.site.identity.resetPassword(token, sent.value.newPassword, page.caller)
      if (result === undefined) return dead(page)
      return 'cookies' in result
        ? goOn(page, result, `/security?notice=${notice}`)
        : seeOther(page, `/sign-in?notice=${notice}`)
    },
  }
}
