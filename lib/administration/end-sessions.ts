import { AccountError } from '../accounts/accounts.ts'
import type { Records } from '../stores/records/records.ts'
import { actionStep } from './operator-log.ts'

interface EndedSessions {
  readonly accountId: string
  readonly reason: string
  readonly operator: string
}

/**
 * Signs everybody of an account out, with its line in the log.
 * @throws AccountError account_not_found
 */
export async function endSessions(
  records: Records,
  { accountId, reason, operator }: EndedSessions,
  at: number,
): Promise<void> {
  const { build } = records
  const [account] = await records.all(
    build.selectFrom('accounts').select('id').where('id', '=', accountId).where('kind', '=', 'customer'),
  )
  if (account === undefined) throw new AccountError('account_not_found', `there is no account ${accountId}`)
  const members = build.selectFrom('memberships').select('user_id').where('account_id', '=', accountId)
  await records.write([
    { write: build.deleteFrom('user_sessions').where('user_id', 'in', members) },
    actionStep(records, { operator, action: 'end-sessions', accountId, reason, at }),
  ])
}
