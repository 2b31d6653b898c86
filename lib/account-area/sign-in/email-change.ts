import { signJWT, verifyJWT } from 'better-auth/crypto'
import { z } from 'zod'
import type { AccountSettings } from '../../accounts/accounts.ts'
import type { UserRows } from '../../accounts/user-rows.ts'
import { html } from 'hono/html'
import { readForm } from '../../web/http/read-form.ts'
import { seeOther } from '../../web/http/redirect.ts'
import { askedForm, hidden } from '../../web/view/form.ts'
import { formPage, messagePage } from '../../web/view/layout.ts'
import type { PageResponse, OwnPage } from '../page.ts'
import type { SettingsEmails } from '../mail/emails.ts'
import { mayWrite, type EmailAttempts } from '../../web/sign-in/attempts.ts'
import type { Caller } from '../../web/sign-in/auth.ts'
import type { SignedInUser } from '../../web/sign-in/sessions.ts'

interface EmailChangeOptions {
  readonly users: Pick<UserRows, 'count'>
  readonly settings: Pick<AccountSettings, 'changeEmail'>
  readonly emails: Pick<SettingsEmails, 'confirmEmail' | 'emailTaken' | 'emailChanged'>
  readonly attempts: EmailAttempts
  readonly secret: string
}

const secondsMax = 24 * 60 * 60

// Distinct from the claims of sign-up confirmations, which are signed with the same secret.
const claims = z.object({ changesEmailOf: z.string(), from: z.string(), to: z.string() })

/** Changes a user's email once the new address is confirmed. */
export class EmailChange {
  readonly #options: EmailChangeOptions

  constructor(options: EmailChangeOptions) {
    this.#options = options
  }

  /** Sends an email to the new address. If it already belongs to another user, only that user learns so. */
  async ask(user: SignedInUser, to: string, language: string, caller: Caller): Promise<void> {
    const { users, emails, attempts, secret } = this.#options
    if (!(await mayWrite(attempts, to, caller))) return
    const isTaken = (await users.count('users', [{ column: 'email', operator: '=', value: to }])) > 0
    if (isTaken) emails.emailTaken({ email: to, language })
    else {
      const claim: z.infer<typeof claims> = { changesEmailOf: user.id, from: user.email, to }
      emails.confirmEmail({ email: to, language }, await signJWT(claim, secret, secondsMax))
    }
  }

  /** The address that a link confirms; undefined when the link is invalid for this user. */
  async find(user: SignedInUser, token: string): Promise<string | undefined> {
    const parsed = claims.safeParse(await verifyJWT(token, this.#options.secret))
    if (!parsed.success) return undefined
    const { changesEmailOf, from, to } = parsed.data
    return changesEmailOf === user.id && from === user.email ? to : undefined
  }

  /** Changes the email and notifies the old address; false when the link is invalid. */
  async confirm(user: SignedInUser, token: string): Promise<boolean> {
    const { settings, emails } = this.#options
    const to = await this.find(user, token)
    if (to === undefined) return false
    const isChanged = await settings.changeEmail({ userId: user.id, from: user.email, to })
    if (isChanged) emails.emailChanged({ email: user.email, language: user.language }, to)
    return isChanged
  }
}

const tokenSchema = z.object({ token: z.string().max(2000) })

function deadEmailLink(page: OwnPage): Response | Promise<Response> {
  const { emailChange, settings } = page.texts
  const { title, dead } = emailChange
  const message = { title, text: html`<p>${dead}</p>`, path: '/settings', label: settings.title }
  return page.context.html(messagePage(page, message), 410)
}

/** The page of the email's link. Opening it has no effect yet: mail servers open links too. */
export async function showConfirmEmail(page: OwnPage): Promise<PageResponse> {
  const { emailChange } = page.texts
  const state = askedForm(page, 'token')
  const email = await page.site.emailChange.find(page.session.user, state.typed['token'] ?? '')
  if (email === undefined) return deadEmailLink(page)
  const { title, text, submit } = emailChange
  return formPage(
    page,
    { title, action: '/settings/email/confirm', state, above: html`<p>${text(email)}</p>` },
    html`${hidden(state, 'token')}<button>${submit}</button>`,
  )
}

/** Changes the user's email to the new address. */
export async function submitConfirmEmail(page: OwnPage): Promise<PageResponse> {
  const sent = await readForm(page, tokenSchema)
  const isChanged = sent.isValid && (await page.site.emailChange.confirm(page.session.user, sent.value.token))
  if (!isChanged) return deadEmailLink(page)
  return seeOther(page, '/settings?notice=email-changed')
}
