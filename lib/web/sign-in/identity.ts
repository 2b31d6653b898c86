import { networkOf } from '../../http/client-address.ts'
import { APIError } from 'better-auth/api'
import { systemClock } from '../../platform/clock.ts'
import type { Consent, UserRows } from '../../accounts/user-rows.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { mayWrite, type Attempts, type EmailAttempts } from './attempts.ts'
import { callerHeaders, type Auth, type Caller } from './auth.ts'
import { consentsOfSignUp } from './user-rows-adapter.ts'
import { verifyJWT } from 'better-auth/crypto'

/** The password is right; `cookies` are `set-cookie` values for the answer. */
export interface RightPassword {
  /** Whether a code is still to be shown. */
  readonly kind: 'signed-in' | 'code-needed'
  readonly cookies: readonly string[]
}

/** How a sign-in ended. */
type SignInResult =
  | RightPassword
  /** The password is right, the email was never confirmed. */
  | { readonly kind: 'unconfirmed' }
  /** Wrong, or locked out: which of the two is not said. */
  | { readonly kind: 'refused' }

interface NewUser {
  readonly email: string
  readonly password: string
  readonly language: string
  readonly consents: readonly Consent[]
}

interface IdentityOptions {
  /** Told of an address right after it was confirmed. */
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

/** What no email had in it may be what a store cannot even be asked for. */
const resetToken = /^[0-9a-z]+$/i

/** The code of an error that better-auth answers with; anything else is thrown on. */
export function refusalCode(error: unknown): string {
  if (error instanceof APIError) return error.body?.code ?? String(error.status)
  throw error
}

/** The cookies that a call sets; undefined where the password that it was made with is wrong. */
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

/** The email that a link to confirm was made for; undefined when it is forged or too old. */
async function confirmedEmail(token: string, secret: string): Promise<string | undefined> {
  const claims = await verifyJWT<{ readonly email?: unknown }>(token, secret)
  return typeof claims?.email === 'string' ? claims.email : undefined
}

/** Who somebody is: signing up, confirming, signing in, and a password that was forgotten. */
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
   * Makes a user with an account, and sends a letter to confirm. Where there is one by this email, its owner
   * gets another letter and nothing else happens. Answers false when too many letters were asked for.
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
      // Two sign-ups at once with one address: the other one made it, and its letter is on the way.
      const isMade = await this.#users.count('users', [{ column: 'email', operator: '=', value: email }])
      if (isMade === 0) throw new LedgerUnavailableError('a user could not be written', { cause: error })
    }
    return true
  }

  async signIn(email: string, password: string, caller: Caller): Promise<SignInResult> {
    const mayByAddress = await this.#attempts.byAddress.begin(networkOf(caller.address))
    // Who is locked out here must not go on to lock others out.
    // A stranger's failures lock the stranger's network out, and slow down everybody's attempts for this email.
    const mayHere = mayByAddress && (await this.#attempts.byEmail.begin(nameHere(email, caller)))
    const mayByEmail = mayHere && (await this.#attempts.byEmailAnywhere.begin(email))
    // A right password must not be told from a wrong one while the door is locked.
    if (!mayByEmail) return { kind: 'refused' }
    const result = await this.#enter(email, password, caller)
    if (result.kind !== 'refused') await this.#succeed(email, caller)
    return result
  }

  async #enter(email: string, password: string, caller: Caller): Promise<SignInResult> {
    try {
      const { headers, response } = await this.#auth.api.signInEmail({
        body: { email, password },
        headers: callerHeaders(caller),
        returnHeaders: true,
      })
      const cookies = headers.getSetCookie()
      return { kind: 'twoFactorRedirect' in response ? 'code-needed' : 'signed-in', cookies }
    } catch (error) {
      const code = refusalCode(error)
      if (code === 'INVALID_EMAIL_OR_PASSWORD' || code === 'INVALID_EMAIL') return { kind: 'refused' }
      if (code !== 'EMAIL_NOT_VERIFIED') throw error
      return { kind: 'unconfirmed' }
    }
  }

  /**
   * Confirms the email of a letter's link and signs in. It takes the password too: otherwise whoever signs up
   * with another's address would only need that other to follow a link. Undefined: the link is of no use.
   */
  async confirm(token: string, password: string, caller: Caller): Promise<SignInResult | undefined> {
    const email = await confirmedEmail(token, (await this.#auth.$context).secret)
    if (email === undefined) return undefined
    const before = await this.signIn(email, password, caller)
    if (before.kind !== 'unconfirmed') return before
    await this.#auth.api.verifyEmail({ query: { token } })
    await this.#onConfirmed(email)
    return this.signIn(email, password, caller)
  }

  /** Sends the letter to confirm once more, where there is something to confirm. */
  async resendConfirmation(email: string, caller: Caller): Promise<void> {
    if (!(await mayWrite(this.#attempts, email, caller))) return
    await this.#auth.api.sendVerificationEmail({ body: { email } })
  }

  /** Sends a letter to set a new password, where there is such a user; which is not said. */
  async forgotPassword(email: string, caller: Caller): Promise<void> {
    // Counted apart: signing up with another's address must not use up the emails that let its owner in.
    if (!(await mayWrite(this.#attempts, `${email} reset`, caller))) return
    await this.#auth.api.requestPasswordReset({ body: { email } })
  }

  /** Whether the link of such an email is good still, so that nobody types a password for nothing. */
  async isResetLink(token: string): Promise<boolean> {
    const found = await this.#resetOf(token)
    return found !== null && found.expiresAt.getTime() > systemClock.now()
  }

  /**
   * Sets a new password, ends all sessions and signs in: whoever has opened the email need not wait out what others
   * of the same network have tried. Undefined: the link is of no use.
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
    // What strangers tried goes on to count.
    await this.#attempts.byEmailAnywhere.takeBack(email)
    // Who guesses others' passwords may well have one account of their own.
    await this.#attempts.byAddress.takeBack(networkOf(caller.address))
  }
}

function nameHere(email: string, caller: Caller): string {
  return `${email} ${networkOf(caller.address)}`
}
