import { randomBytes } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/log.ts'
import type { FailureCounts } from '../../rate-limits/failure-counts.ts'
import { attemptsOf } from './attempts.ts'
import { createAuth, type AuthOptions } from './auth.ts'
import { Identity } from './identity.ts'
import { SecondFactor } from './second-factor.ts'
import { Sessions } from './sessions.ts'

interface SignInOptions extends Omit<AuthOptions, 'onPasswordReset' | 'secret'> {
  /** From the settings; absent: one generated in the store. */
  readonly secret: string | undefined
  /** Called with the address of a user who has just confirmed it. */
  readonly onConfirmed: (email: string) => Promise<void>
  /** Counts failures across all processes of this area. */
  readonly failures: FailureCounts
  readonly clock: Clock
  readonly log: Log
}

const minute = 60_000
/**
 * Ten wrong passwords lock a network out of a user for a quarter of an hour; a whole office may share one address.
 */
const limits = {
  byEmail: { slowFrom: 3, lockFrom: 10, forgetMs: 15 * minute },
  byEmailAnywhere: { slowFrom: 20, lockFrom: 1000, forgetMs: 15 * minute },
  byAddress: { slowFrom: 20, lockFrom: 50, forgetMs: 15 * minute },
  emailsTo: { slowFrom: Infinity, lockFrom: 6, forgetMs: 60 * minute },
  emailsFrom: { slowFrom: Infinity, lockFrom: 60, forgetMs: 60 * minute },
  ownPassword: { slowFrom: 3, lockFrom: 10, forgetMs: 15 * minute },
  // How long a code can be valid: its own half minute and the adjacent ones, with a margin.
  usedCode: { slowFrom: Infinity, lockFrom: 1, forgetMs: 2 * minute },
}

/** Opens signing in for an area: the members of `WebSite` that depend on it. */
export async function openSignIn(options: SignInOptions) {
  const { users, tables, onConfirmed, failures, cookiePrefix, name, publicUrl, clock, log } = options
  const secret =
    options.secret ?? (await users.secret(`${cookiePrefix}-area`, randomBytes(32).toString('base64url')))
  const attempts = attemptsOf(failures, cookiePrefix, limits)
  const onPasswordReset = async (email: string, isFirst: boolean): Promise<void> => {
    if (isFirst) await onConfirmed(email)
  }
  const auth = createAuth({ ...options, secret, onPasswordReset })
  return {
    cookiePrefix,
    name,
    publicUrl,
    secret,
    users,
    tables,
    clock,
    log,
    attempts,
    identity: new Identity({ auth, users, onConfirmed, attempts }),
    sessions: new Sessions({ auth, users }),
    secondFactor: new SecondFactor(auth, attempts.usedCode),
    passwordAttempts: attempts.ownPassword,
  }
}
