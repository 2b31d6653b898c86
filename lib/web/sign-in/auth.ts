// The minimal build has no Kysely; the store replaces it.
import { betterAuth } from 'better-auth/minimal'
import { twoFactor } from 'better-auth/plugins/two-factor'
import type { UserRows, UserTable } from '../../accounts/user-rows.ts'
import type { Log } from '../../platform/log.ts'
import { newId } from '../../platform/new-id.ts'
import { hashPassword, verifyPassword, type PasswordCost } from './password-hash.ts'
import { userRowsAdapter } from './user-rows-adapter.ts'
import type { Clock } from '../../platform/clock.ts'

/** The tables of an area's users, sessions and credentials. */
export interface SignInTables {
  readonly users: UserTable
  readonly sessions: UserTable
  readonly passwords: UserTable
  readonly verifications: UserTable
  readonly twoFactors: UserTable
}

/** Customers of the account area. */
export const customerTables: SignInTables = {
  users: 'users',
  sessions: 'user_sessions',
  passwords: 'user_passwords',
  verifications: 'user_verifications',
  twoFactors: 'user_two_factors',
}

/** Operators of the operator area. */
export const operatorTables: SignInTables = {
  users: 'operators',
  sessions: 'operator_sessions',
  passwords: 'operator_passwords',
  verifications: 'operator_verifications',
  twoFactors: 'operator_two_factors',
}

const rowsAtOnce = 500

/** Deletes expired sessions and email tokens, a few at a time. Returns how many. */
export async function deleteExpired(users: UserRows, tables: SignInTables, clock: Clock): Promise<number> {
  const isOver = { column: 'expires_at', operator: '<', value: clock.now() } as const
  let count = 0
  for (const table of [tables.sessions, tables.verifications]) {
    for (let deleted = rowsAtOnce; deleted === rowsAtOnce; count += deleted) {
      deleted = (await users.delete(table, [isOver], rowsAtOnce)).length
    }
  }
  return count
}

/** The parts of a request that signing in depends on. */
export interface Caller {
  /** The client's address, from trusted proxies where they report one. */
  readonly address: string
  readonly cookie: string
  readonly userAgent: string
}

/** The caller's headers for better-auth. It sees nothing else of the request. */
export function callerHeaders({ address, cookie, userAgent }: Caller): Headers {
  return new Headers({ cookie, 'user-agent': userAgent, [addressHeader]: address })
}

/** The caller with the cookies that were just set, if any. */
export function withCookies(caller: Caller, cookies: readonly string[]): Caller {
  if (cookies.length === 0) return caller
  return { ...caller, cookie: cookies.map(cookie => cookie.split(';', 1)[0]).join('; ') }
}

export interface Recipient {
  readonly email: string
  readonly language: string | undefined
}

/** Emails for signing up and in; each is sent after the response. */
export interface SignInEmails {
  confirm(to: Recipient, token: string): void
  /** For a sign-up with an address that already has a user. */
  alreadySignedUp(to: Recipient): void
  resetPassword(to: Recipient, token: string): void
  passwordChanged(to: Recipient): void
}

/** Options of signing in to an area. */
export interface AuthOptions {
  readonly cookiePrefix: string
  readonly tables: SignInTables
  readonly users: UserRows
  readonly publicUrl: URL
  readonly secret: string
  /** Shown by authenticator apps. */
  readonly name: string
  readonly emails: SignInEmails
  /** Called when a user has set a new password through an email; `isFirst` when this confirmed the address. */
  readonly onPasswordReset: (email: string, isFirst: boolean) => Promise<void>
  readonly passwordCost?: PasswordCost | undefined
  readonly log: Pick<Log, 'debug' | 'error'>
}

/** Length limits of a password: NIST SP 800-63B requires length rather than kinds of characters. */
export const passwordLength = { min: 10, max: 128 }

/** The header in which better-auth reads the client's address; the gateway sets it, never a client. */
const addressHeader = 'x-gateway-client-address'

const day = 24 * 60 * 60

function recipient(user: { readonly email: string; readonly language?: unknown }): Recipient {
  return { email: user.email, language: typeof user.language === 'string' ? user.language : undefined }
}

/** Invalidates a user's pending links and sign-ins: after a new password, earlier links must not work. */
export async function endLinks(users: UserRows, tables: SignInTables, userId: string): Promise<void> {
  await users.delete(tables.verifications, [{ column: 'value', operator: '=', value: userId }])
}

/**
 * Users, passwords, sessions and second factors through better-auth, called by the gateway's pages: none of its own
 * routes is served.
 */
export function createAuth(options: AuthOptions) {
  const { cookiePrefix, tables, users, publicUrl, secret, name, emails, onPasswordReset, log } = options
  return betterAuth({
    appName: name,
    baseURL: publicUrl.origin,
    secret,
    database: userRowsAdapter(users),
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: {
      log(level, message, ...more) {
        if (level === 'error') log.error({ more }, `better-auth: ${message}`)
        else log.debug({}, `better-auth: ${message}`)
      },
    },
    emailAndPassword: {
      enabled: true,
      autoSignIn: false,
      requireEmailVerification: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
      password: { hash: password => hashPassword(password, options.passwordCost), verify: verifyPassword },
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: 60 * 60,
      sendResetPassword: async ({ user, token }) => emails.resetPassword(recipient(user), token),
      onExistingUserSignUp: async ({ user }) => emails.alreadySignedUp(recipient(user)),
      async onPasswordReset({ user }) {
        await endLinks(users, tables, user.id)
        // Following the link proves ownership of the address.
        await onPasswordReset(user.email, !user.emailVerified)
        await users.update(tables.users, [{ column: 'id', operator: '=', value: user.id }], {
          set: { email_verified: 1 },
        })
        emails.passwordChanged(recipient(user))
      },
    },
    emailVerification: {
      expiresIn: day,
      autoSignInAfterVerification: false,
      sendVerificationEmail: async ({ user, token }) => emails.confirm(recipient(user), token),
    },
    user: { modelName: tables.users, additionalFields: { language: { type: 'string', required: false } } },
    session: { modelName: tables.sessions, expiresIn: 30 * day, updateAge: day, freshAge: 0 },
    account: { modelName: tables.passwords },
    verification: { modelName: tables.verifications },
    plugins: [twoFactor({ issuer: name, schema: { twoFactor: { modelName: tables.twoFactors } } })],
    advanced: {
      cookiePrefix,
      useSecureCookies: publicUrl.protocol === 'https:',
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/' },
      database: { generateId: () => newId() },
      ipAddress: { ipAddressHeaders: [addressHeader] },
    },
  })
}

/** Better-auth as configured here. */
export type Auth = ReturnType<typeof createAuth>
