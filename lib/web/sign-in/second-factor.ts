import type { Attempts } from './attempts.ts'
import { callerHeaders, type Auth, type Caller } from './auth.ts'
import { withCheckedPassword } from './checked-password.ts'
import { cookiesUnlessWrong, refusalCode } from './identity.ts'

/** The secret for an authenticator app, and backup codes; both are shown once. */
export interface FactorSetup {
  /** `otpauth://totp/...` */
  readonly uri: string
  /** The secret in that URI, for typing. */
  readonly secret: string
  readonly backupCodes: readonly string[]
}

/** The result of the second step of signing in. */
type CodeResult =
  | { readonly kind: 'signed-in'; readonly cookies: readonly string[] }
  | { readonly kind: 'wrong' }
  /** Too late, too many attempts, or a code used before: the user must sign in again. */
  | { readonly kind: 'over' }

const wrongCodes: ReadonlySet<string> = new Set(['INVALID_CODE', 'INVALID_BACKUP_CODE', 'INVALID_PASSWORD'])

/** Codes from an authenticator app (RFC 6238). */
export class SecondFactor {
  readonly #auth: Auth
  readonly #usedCodes: Attempts

  constructor(auth: Auth, usedCodes: Attempts) {
    this.#auth = auth
    this.#usedCodes = usedCodes
  }

  /** Signs in with a code of the app, or with a backup code, which is used up. */
  async signIn(caller: Caller, code: string): Promise<CodeResult> {
    const call = { body: { code }, headers: callerHeaders(caller), returnHeaders: true } as const
    const isOfApp = /^\d{6}$/.test(code)
    try {
      const { headers, response } = isOfApp
        ? await this.#auth.api.verifyTOTP(call)
        : await this.#auth.api.verifyBackupCode(call)
      const { token = '', user } = response
      // A code that was observed while it was typed must not work again (RFC 6238 5.2).
      if (isOfApp && !(await this.#usedCodes.begin(`${user.id} ${code}`))) {
        await (await this.#auth.$context).internalAdapter.deleteSession(token)
        return { kind: 'over' }
      }
      return { kind: 'signed-in', cookies: headers.getSetCookie() }
    } catch (error) {
      return { kind: wrongCodes.has(refusalCode(error)) ? 'wrong' : 'over' }
    }
  }

  /**
   * Begins the setup; undefined when the password is wrong, `on` when it is already on, for instance from another
   * window. It takes effect only when `confirm` has checked a code.
   */
  async setUp(caller: Caller, password: string): Promise<FactorSetup | 'on' | undefined> {
    try {
      const call = { body: { password, method: 'totp' }, headers: callerHeaders(caller) } as const
      const answer = await withCheckedPassword(() => this.#auth.api.enableTwoFactor(call))
      if (!('totpURI' in answer)) throw new Error('better-auth answered without a secret')
      const { totpURI: uri, backupCodes } = answer
      return { uri, secret: new URL(uri).searchParams.get('secret') ?? '', backupCodes }
    } catch (error) {
      const code = refusalCode(error)
      if (code === 'TOTP_ALREADY_ENABLED') return 'on'
      if (code !== 'INVALID_PASSWORD') throw error
      return undefined
    }
  }

  /** Switches it on with a first code; undefined when the code is wrong. Returns the cookies of a new session. */
  async confirm(caller: Caller, code: string): Promise<readonly string[] | undefined> {
    try {
      const { headers, response } = await this.#auth.api.verifyTOTP({
        body: { code },
        headers: callerHeaders(caller),
        returnHeaders: true,
      })
      // The code typed here must not work for signing in either.
      await this.#usedCodes.begin(`${response.user.id} ${code}`)
      return headers.getSetCookie()
    } catch (error) {
      refusalCode(error)
      return undefined
    }
  }

  /** Creates new backup codes; undefined when the password is wrong, `off` when the second factor is off. */
  async newBackupCodes(caller: Caller, password: string): Promise<readonly string[] | 'off' | undefined> {
    try {
      const call = { body: { password }, headers: callerHeaders(caller) }
      const { backupCodes } = await withCheckedPassword(() => this.#auth.api.generateBackupCodes(call))
      return backupCodes
    } catch (error) {
      const code = refusalCode(error)
      if (code === 'TWO_FACTOR_NOT_ENABLED') return 'off'
      if (code !== 'INVALID_PASSWORD') throw error
      return undefined
    }
  }

  /** Switches it off; undefined when the password is wrong. */
  async remove(caller: Caller, password: string): Promise<readonly string[] | undefined> {
    const call = { body: { password }, headers: callerHeaders(caller), returnHeaders: true } as const
    return cookiesUnlessWrong(withCheckedPassword(() => this.#auth.api.disableTwoFactor(call)))
  }
}
