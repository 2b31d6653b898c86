import type { UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'

/** How long somebody who has signed up may take to confirm the e-mail. */
const confirmMs = 7 * 24 * 60 * 60_000
const usersAtOnce = 100

/**
 * Forgets who signed up and did not confirm the e-mail in time: it may be the address of somebody who knows
 * nothing of it. Answers how many.
 */
export async function deleteUnconfirmed(users: UserRows, clock: Clock): Promise<number> {
  const madeBefore = clock.now() - confirmMs
  let count = 0
  for (let deleted = usersAtOnce; deleted === usersAtOnce; count += deleted) {
    deleted = await users.deleteUnconfirmed(madeBefore, usersAtOnce)
  }
  return count
}
