import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import type { UserRows } from '../../accounts/user-rows.ts'
import { callerHeaders, type Auth, type Caller } from './auth.ts'
import { requireAsRead, withCheckedPassword } from './checked-password.ts'
import { cookiesUnlessWrong, refusalCode } from './identity.ts'

export interface SignedInUser {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly isEmailConfirmed: boolean
  readonly hasTwoFactor: boolean
  /** The language of the user's settings, if chosen. */
  readonly language: string | undefined
}

/** The session of a request. */
export interface OpenSession {
  readonly id: string
  /** Known only to the user's browser; never shown. */
  readonly token: string
  readonly user: SignedInUser
  /** Cookies to set in the response when the session was extended. */
  readonly cookies: readonly string[]
}

/** A session in the user's list. Times in milliseconds since the epoch. */
export interface ListedSession {
  readonly id: string
  readonly address: string
  readonly userAgent: string
  readonly signedInAt: number
}

interface SessionsOptions {
  readonly auth: Auth
  readonly users: Pick<UserRows, 'count'>
}

/** Users' sessions, and checks of passwords within them. */
export class Sessions {
  readonly #auth: Auth
  readonly #users: SessionsOptions['users']

  constructor({ auth, users }: SessionsOptions) {
    this.#auth = auth
    this.#users = users
  }

  async find(caller: Caller): Promise<OpenSession | undefined> {
    if (caller.cookie === '') return undefined
    const { response, headers } = await this.#read(caller)
    if (response === null) return undefined
    const { session, user } = response
    return {
      id: session.id,
      token: session.token,
      user: {
        id: user.id,
        email: user.email,
        name: user.name ?? '',
        isEmailConfirmed: user.emailVerified,
        hasTwoFactor: user.twoFactorEnabled === true,
        language: user.language ?? undefined,
      },
      cookies: headers.getSetCookie(),
    }
  }

  async #read(caller: Caller) {
    try {
      return await this.#auth.api.getSession({ headers: callerHeaders(caller), returnHeaders: true })
    } catch (cause) {
      // Better-auth hides the store's error.
      if (refusalCode(cause) !== 'FAILED_TO_GET_SESSION') throw cause
      throw new LedgerUnavailableError('sessions cannot be read', { cause })
    }
  }

  /** Ends the caller's session; returns the cookies that clear it. */
  async end(caller: Caller): Promise<readonly string[]> {
    const { headers } = await this.#auth.api.signOut({ headers: callerHeaders(caller), returnHeaders: true })
    return headers.getSetCookie()
  }

  /** The newest first. */
  async list(caller: Caller): Promise<readonly ListedSession[]> {
    const sessions = await this.#auth.api.listSessions({ headers: callerHeaders(caller) })
    return sessions
      .map(({ id, ipAddress, userAgent, createdAt }) => ({
        id,
        address: ipAddress ?? '',
        userAgent: userAgent ?? '',
        signedInAt: createdAt.getTime(),
      }))
      .toSorted((one, other) => other.signedInAt - one.signedInAt)
  }

  /** Ends one session of the caller's user; ids of other users' sessions have no effect. */
  async endOne(caller: Caller, id: string): Promise<void> {
    const headers = callerHeaders(caller)
    const sessions = await this.#auth.api.listSessions({ headers })
    const found = sessions.find(session => session.id === id)
    if (found !== undefined) await this.#auth.api.revokeSession({ body: { token: found.token }, headers })
  }

  async endOthers(caller: Caller): Promise<void> {
    await this.#auth.api.revokeOtherSessions({ headers: callerHeaders(caller) })
  }

  /** Whether a password is that of the caller's user. */
  async isPassword(caller: Caller, password: string): Promise<boolean> {
    try {
      await withCheckedPassword(async () => {
        await this.#auth.api.verifyPassword({ body: { password }, headers: callerHeaders(caller) })
        await requireAsRead(this.#users)
      })
      return true
    } catch (error) {
      if (refusalCode(error) !== 'INVALID_PASSWORD') throw error
      return false
    }
  }

  /** Changes the password and ends every session but a new one; undefined when the current password is wrong. */
  async changePassword(
    caller: Caller,
    currentPassword: string,
    newPassword: string,
  ): Promise<readonly string[] | undefined> {
    const body = { currentPassword, newPassword, revokeOtherSessions: true }
    const call = { body, headers: callerHeaders(caller), returnHeaders: true } as const
    return cookiesUnlessWrong(withCheckedPassword(() => this.#auth.api.changePassword(call)))
  }
}
