import type { UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/new-id.ts'
import { hashPassword } from '../../web/sign-in/password-hash.ts'

/** Creates a user with an account that is confirmed without an email; returns the user's id. */
export async function createConfirmedUser(
  users: UserRows,
  clock: Clock,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string> {
  const now = clock.now()
  const times = { created_at: now, updated_at: now }
  const id = newId()
  await users.createUser({ id, email, name: '', email_verified: 1, ...times }, [])
  await users.insert('user_passwords', {
    id: newId(),
    user_id: id,
    account_id: id,
    provider_id: 'credential',
    password: await hashPassword(password),
    ...times,
  })
  return id
}
