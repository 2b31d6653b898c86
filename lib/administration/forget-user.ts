import { AccountError } from '../accounts/accounts.ts'
import { tryWrite, type RecordStep, type Records } from '../stores/records/records.ts'

/** An address that no email reaches: names ending so belong to nobody (RFC 2606). */
const domain = 'deleted.invalid'

function noEmail(id: string): string {
  return `deleted-${id}@${domain}`
}

/** Whether an account or user was forgotten, by their email. */
export function isForgotten(email: string | null): boolean {
  return email?.endsWith(`@${domain}`) === true
}

/** @throws AccountError account_deleted for the email of an account that was forgotten */
export function requireKept(accountId: string, email: string | null): void {
  if (!isForgotten(email)) return
  throw new AccountError(
    'account_deleted',
    `the account ${accountId} was deleted: nobody could use the money`,
  )
}

/** Removes what is personal about an account, and who else acts for it. What it was charged stays under its id. */
export function forgetAccountSteps({ build }: Pick<Records, 'build'>, id: string): readonly RecordStep[] {
  return [
    {
      write: build
        .updateTable('accounts')
        .set({ email: noEmail(id), name: null, alert_below_micros: null })
        .where('id', '=', id),
    },
    { write: build.deleteFrom('balance_alerts').where('account_id', '=', id) },
    { write: build.updateTable('keys').set({ name: '', ip_addresses: null }).where('account_id', '=', id) },
    { write: build.deleteFrom('invitations').where('account_id', '=', id) },
    { write: build.deleteFrom('memberships').where('account_id', '=', id).where('role', '<>', 'owner') },
  ]
}

/** Removes what is personal about a user, and what they sign in with; of several at once one transaction stands. */
export function forgetUserSteps({ build }: Pick<Records, 'build'>, id: string): readonly RecordStep[] {
  const email = noEmail(id)
  const own = build.selectFrom('users').select('users.email').where('users.id', '=', id)
  const forgotten = { email, name: null, image: null, language: null }
  return [
    { write: build.deleteFrom('invitations').where('email', '=', own) },
    { write: build.deleteFrom('memberships').where('user_id', '=', id).where('role', '<>', 'owner') },
    { write: build.deleteFrom('user_sessions').where('user_id', '=', id) },
    { write: build.deleteFrom('user_passwords').where('user_id', '=', id) },
    { write: build.deleteFrom('user_two_factors').where('user_id', '=', id) },
    { write: build.deleteFrom('user_verifications').where('value', '=', id) },
    {
      write: build
        .updateTable('users')
        .set({ ...forgotten, email_verified: 0, two_factor_enabled: 0 })
        .where('id', '=', id)
        .where('email', '<>', email),
      rows: 1,
    },
  ]
}

/**
 * Removes a user and what is personal about the accounts they own: emails, names, sessions, what they sign in with,
 * names and addresses of keys. Accounts and what they were charged stay under their ids, and consents as proof. Keys
 * are for the caller to revoke before. Of many at once, one is answered that it has done it.
 */
export async function forgetUser(records: Records, userId: string): Promise<boolean> {
  const owned = await records.all(
    records.build
      .selectFrom('memberships')
      .select('account_id')
      .where('user_id', '=', userId)
      .where('role', '=', 'owner'),
  )
  return tryWrite(records, [
    ...owned.flatMap(one => forgetAccountSteps(records, one.account_id)),
    ...forgetUserSteps(records, userId),
  ])
}
