import { AccountError } from '../accounts/accounts.ts'
import { tryWrite, type RecordStep, type Records } from '../stores/records/records.ts'

/** An address that no email reaches: names with this ending belong to nobody (RFC 2606). */
const domain = 'deleted.invalid'

function noEmail(id: string): string {
  return `deleted-${id}@${domain}`
}

/** Whether an account or user was deleted, by their email. */
export function isForgotten(email: string | null): boolean {
  return email?.endsWith(`@${domain}`) === true
}

/** @throws AccountError account_deleted for the email of a deleted account */
export function requireKept(accountId: string, email: string | null): void {
  if (!isForgotten(email)) return
  throw new AccountError(
    'account_deleted',
    `the account ${accountId} was deleted: nobody could use the money`,
  )
}

/** Removes an account's personal data and its other members. Its charges stay under its id. */
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

/** Removes a user's personal data and sign-in; of several concurrent transactions one succeeds. */
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
 * Removes a user and the personal data of the accounts they own: emails, names, sessions, sign-in data, names and
 * addresses of keys. Accounts and their charges stay under their ids, and consents as proof. The caller must revoke the
 * keys first. Of several concurrent calls, one resolves with having done it.
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
