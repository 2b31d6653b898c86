import { networkOf } from '../../http/client-address.ts'
import { APIError } from 'better-auth/api'
import { systemClock } from '../../platform/clock.ts'
import type { Consent, UserRows } from '../../accounts/user-rows.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { mayWrite, type Attempts, type EmailAttempts } from './attempts.ts'
import { callerHeaders, type Auth, type Caller } from './auth.ts'
import { withCheckedPassword } from './checked-password.ts'
import { consentsOfSignUp } from './user-rows-adapter.ts'
import { verifyJWT } from 'better-auth/crypto'

/** The password is right; `cookies` are `set-cookie` values for the response. */
export interface RightPassword {
  /** Whether a code is required next. */
  readonly kind: 'signed-in' | 'code-needed'
  readonly cookies: readonly string[]
}

/** The result of a sign-in. */
type SignInResult =
  | RightPassword
  /** The password is right, but the email was never confirmed. */
  | { readonly kind: 'unconfirmed' }
  /** A wrong password or a lock; the two are not distinguished. */
  | { readonly kind: 'refused' }

interface NewUser {
  readonly email: string
  readonly password: string
  readonly language: string
  readonly consents: readonly Consent[]
}

interface IdentityOptions {
  /** Called with an address just before it is confirmed, and again if the confirmation failed. */
  readonly onConfirmed: (email: string) => Promise<void>
  readonly auth: Auth
  readonly users: Pick<UserRows, 'count'>
  readonly attempts: {
    /** By email and network. */
    readonly byEmail: Attempts
    readonly byEmailAnywhere: Attempts
    readonly byAddress: Attempts
  } & EmailAttempts
}

/** A token of another form was never in an email, and the store may reject it as a value. */
const resetToken = /^[0-9a-z]+$/i

/** The error code of better-auth; any other error is rethrown. */
export function refusalCode(error: unknown): string {
  if (error instanceof APIError) return error.body?.code ?? String(error.status)
  throw error
}

/** The cookies that a call sets; undefined where its password is wrong. */
export async function cookiesUnlessWrong(
  call: Promise<{ readonly headers: Headers }>,
): Promise<readonly string[] | undefined> {
  try {
    return (await call).headers.getSetCookie()
  } catch (error) {
    if (refusalCode(error) !== 'INVALID_PASSWORD') throw error
    return undefined
  }
}

/** The email that a confirmation link was made for; undefined when the link is forged or expired. */
async function confirmedEmail(token: string, secret: string): Promise<string | undefined> {
  const claims = await verifyJWT<{ readonly email?: unknown }>(token, secret)
  return typeof claims?.email === 'string' ? claims.email : undefined
}

/** Signing up, confirming an email, signing in, and resetting a password. */
export class Identity {
  readonly #auth: Auth
  readonly #users: IdentityOptions['users']
  readonly #attempts: IdentityOptions['attempts']

  readonly #onConfirmed: IdentityOptions['onConfirmed']

  constructor({ auth, users, attempts, onConfirmed }: IdentityOptions) {
    this.#onConfirmed = onConfirmed
    this.#auth = auth
    this.#users = users
    this.#attempts = attempts
  }

  /**
   * Creates a user with an account, and sends a confirmation email. If the email already has a user, its owner gets
   * another email and nothing else happens. Returns false when too many emails were requested.
   */
  async signUp(user: NewUser, caller: Caller): Promise<boolean> {
    const { email, password, language, consents } = user
    if (!(await mayWrite(this.#attempts, email, caller))) return false
    try {
      await consentsOfSignUp.run(consents, () =>
        this.#auth.api.signUpEmail({
          body: { email, password, name: '', language },
          headers: callerHeaders(caller),
        }),
      )
    } catch (error) {
      if (refusalCode(error) !== 'FAILED_TO_CREATE_USER') throw error
      // Two concurrent sign-ups with one address: the other one created the user and sends the email.
      const isMade = await this.#users.count('users', [{ column: 'email', operator: '=', value: email }])
      if (isMade === 0) throw new LedgerUnavailableError('a user could not be written', { cause: error })
    }
    return true
  }

  async signIn(email: string, password: string, caller: Caller): Promise<SignInResult> {
    const mayByAddress = await this.#attempts.byAddress.begin(networkOf(caller.address))
    // A network that is locked for an address must not add failures that lock out others.
    // Failures of other networks lock those networks, and slow down all attempts for this email.
    const mayHere = mayByAddress && (await this.#attempts.byEmail.begin(nameHere(email, caller)))
    const mayByEmail = mayHere && (await this.#attempts.byEmailAnywhere.begin(email))
    // During a lock, right and wrong passwords must be indistinguishable.
    if (!mayByEmail) return { kind: 'refused' }
    const result = await this.#enter(email, password, caller)
    if (result.kind !== 'refused') await this.#succeed(email, caller)
    return result
  }

  async #enter(email: string, password: string, caller: Caller): Promise<SignInResult> {
    try {
      const call = { body: { email, password }, headers: callerHeaders(caller), returnHeaders: true } as const
      const { headers, response } = await withCheckedPassword(() => this.#auth.api.signInEmail(call), {
        signsIn: true,
      })
      const cookies = headers.getSetCookie()
      return { kind: 'twoFactorRedirect' in response ? 'code-needed' : 'signed-in', cookies }
    } catch (error) {
      const code = refusalCode(error)
      if (code === 'INVALID_EMAIL_OR_PASSWORD' || code === 'INVALID_EMAIL') return { kind: 'refused' }
      // The password was replaced while it was checked: the current one decides.
      if (code === 'INVALID_PASSWORD') return this.#enter(email, password, caller)
      if (code !== 'EMAIL_NOT_VERIFIED') throw error
      return { kind: 'unconfirmed' }
    }
  }

  /**
   * Confirms the email of a link and signs in. The password is required too: otherwise an attacker could sign up with
   * another person's address and only need that person to follow the link. Undefined: the link is invalid.
   */
  async confirm(token: string, password: string, caller: Caller): Promise<SignInResult | undefined> {
    const email = await confirmedEmail(token, (await this.#auth.$context).secret)
    if (email === undefined) return undefined
    const before = await this.signIn(email, password, caller)
    if (before.kind !== 'unconfirmed') return before
    // In this order, so that after a failure following the link again does both.
    await this.#onConfirmed(email)
    await this.#auth.api.verifyEmail({ query: { token } })
    return this.signIn(email, password, caller)
  }

  /** Sends the confirmation email again, if the address is still unconfirmed. */
  async resendConfirmation(email: string, caller: Caller): Promise<void> {
    if (!(await mayWrite(this.#attempts, email, caller))) return
    await this.#auth.api.sendVerificationEmail({ body: { email } })
  }

  /** Sends an email to set a new password if the user exists, without revealing whether one does. */
  async forgotPassword(email: string, caller: Caller): Promise<void> {
    // Counted separately: sign-ups with another person's address must not use up that person's reset emails.
    if (!(await mayWrite(this.#attempts, `${email} reset`, caller))) return
    await this.#auth.api.requestPasswordReset({ body: { email } })
  }

  /** Whether a reset link is still valid, checked before the user types a password. */
  async isResetLink(token: string): Promise<boolean> {
    const found = await this.#resetOf(token)
    return found !== null && found.expiresAt.getTime() > systemClock.now()
  }

  /**
   * Sets a new password, ends all sessions and signs in: a user who opened the email is not delayed by failed
   * attempts from the same network. Undefined: the link is invalid.
   */
  async resetPassword(token: string, newPassword: string, caller: Caller): Promise<SignInResult | undefined> {
    const email = await this.#emailOfReset(token)
    if (email === undefined) return undefined
    try {
      await this.#auth.api.resetPassword({ body: { token, newPassword } })
    } catch (error) {
      if (refusalCode(error) !== 'INVALID_TOKEN') throw error
      return undefined
    }
    await this.#attempts.byEmail.forget(nameHere(email, caller))
    await this.#attempts.byEmailAnywhere.forget(email)
    return this.#enter(email, newPassword, caller)
  }

  async #emailOfReset(token: string): Promise<string | undefined> {
    const found = await this.#resetOf(token)
    const { internalAdapter } = await this.#auth.$context
    return found === null ? undefined : (await internalAdapter.findUserById(found.value))?.email
  }

  async #resetOf(token: string) {
    if (!resetToken.test(token)) return null
    return (await this.#auth.$context).internalAdapter.findVerificationValue(`reset-password:${token}`)
  }

  async #succeed(email: string, caller: Caller): Promise<void> {
    await this.#attempts.byEmail.forget(nameHere(email, caller))
    // Failures of other networks continue to count.
    await this.#attempts.byEmailAnywhere.takeBack(email)
    // Only this attempt is subtracted: an attacker may have an account too.
    await this.#attempts.byAddress.takeBack(networkOf(caller.address))
  }
}

function nameHere(email: string, caller: Caller): string {
  return `${email} ${networkOf(caller.address)}`
}
