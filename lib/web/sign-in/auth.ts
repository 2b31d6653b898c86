// Without Kysely, which the store stands in for.
import { betterAuth } from 'better-auth/minimal'
import { twoFactor } from 'better-auth/plugins/two-factor'
import type { UserRows, UserTable } from '../../accounts/user-rows.ts'
import type { Log } from '../../platform/log.ts'
import { newId } from '../../platform/new-id.ts'
import { hashPassword, verifyPassword, type PasswordCost } from './password-hash.ts'
import { userRowsAdapter } from './user-rows-adapter.ts'
import type { Clock } from '../../platform/clock.ts'

/** The tables of an area's users and of what they sign in with. */
export interface SignInTables {
  readonly users: UserTable
  readonly sessions: UserTable
  readonly passwords: UserTable
  readonly verifications: UserTable
  readonly twoFactors: UserTable
}

/** Customers, in the account area. */
export const customerTables: SignInTables = {
  users: 'users',
  sessions: 'user_sessions',
  passwords: 'user_passwords',
  verifications: 'user_verifications',
  twoFactors: 'user_two_factors',
}

/** Operators, in their own pages. */
export const operatorTables: SignInTables = {
  users: 'operators',
  sessions: 'operator_sessions',
  passwords: 'operator_passwords',
  verifications: 'operator_verifications',
  twoFactors: 'operator_two_factors',
}

const rowsAtOnce = 500

/** Deletes sessions and letters' tokens whose time is over, a few at a time. Answers how many. */
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

/** Who asks: what of a request signing in depends on. */
export interface Caller {
  /** The client's address, as trusted proxies tell it. */
  readonly address: string
  readonly cookie: string
  readonly userAgent: string
}

/** The caller for better-auth. Nothing else of the request reaches it. */
export function callerHeaders({ address, cookie, userAgent }: Caller): Headers {
  return new Headers({ cookie, 'user-agent': userAgent, [addressHeader]: address })
}

export interface Recipient {
  readonly email: string
  readonly language: string | undefined
}

/** Emails that signing up and in needs; each is sent behind the answer. */
export interface SignInLetters {
  confirm(to: Recipient, token: string): void
  /** Somebody signed up with an address that has a user. */
  alreadySignedUp(to: Recipient): void
  resetPassword(to: Recipient, token: string): void
  passwordChanged(to: Recipient): void
}

/** What signing in is made of, for an area. */
export interface AuthOptions {
  readonly cookiePrefix: string
  readonly tables: SignInTables
  readonly users: UserRows
  readonly publicUrl: URL
  readonly secret: string
  /** Shown by authenticator apps. */
  readonly name: string
  readonly letters: SignInLetters
  /** Called for a user who has set a new password by an email; `isFirst` when that has confirmed the address. */
  readonly onPasswordReset: (email: string, isFirst: boolean) => Promise<void>
  readonly passwordCost?: PasswordCost | undefined
  readonly log: Pick<Log, 'debug' | 'error'>
}

/** Bounds of a password: NIST SP 800-63B asks for length, not for kinds of characters. */
export const passwordLength = { min: 10, max: 128 }

/** The client's address reaches better-auth under this name, set by us and never by a client. */
const addressHeader = 'x-gateway-client-address'

const day = 24 * 60 * 60

function recipient(user: { readonly email: string; readonly language?: unknown }): Recipient {
  return { email: user.email, language: typeof user.language === 'string' ? user.language : undefined }
}

/** Ends what else was sent or begun to get in: with a new password, links of before must open nothing. */
export async function endLinks(users: UserRows, tables: SignInTables, userId: string): Promise<void> {
  await users.delete(tables.verifications, [{ column: 'value', operator: '=', value: userId }])
}

/**
 * Users, passwords, sessions and second factors by better-auth, asked by our own pages: none of its routes is
 * served.
 */
export function createAuth(options: AuthOptions) {
  const { cookiePrefix, tables, users, publicUrl, secret, name, letters, onPasswordReset, log } = options
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
      sendResetPassword: async ({ user, token }) => letters.resetPassword(recipient(user), token),
      onExistingUserSignUp: async ({ user }) => letters.alreadySignedUp(recipient(user)),
      async onPasswordReset({ user }) {
        // Whoever followed the link has shown that the address is theirs.
        await users.update(tables.users, [{ column: 'id', operator: '=', value: user.id }], {
          set: { email_verified: 1 },
        })
        await endLinks(users, tables, user.id)
        await onPasswordReset(user.email, !user.emailVerified)
        letters.passwordChanged(recipient(user))
      },
    },
    emailVerification: {
      expiresIn: day,
      autoSignInAfterVerification: false,
      sendVerificationEmail: async ({ user, token }) => letters.confirm(recipient(user), token),
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

/** Better-auth as it is set up here. */
export type Auth = ReturnType<typeof createAuth>
