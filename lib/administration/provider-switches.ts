import type { Records, RecordReader } from '../stores/records/records.ts'
import type { ProviderSwitch } from '../upstream/provider-health.ts'
import { actionStep } from './operator-log.ts'

/** Actions of operators on providers. */
export type ProviderAction = 'pause' | 'resume' | 'try'

interface ProviderOrder {
  readonly action: ProviderAction
  readonly provider: string
  /** Empty: the whole provider. */
  readonly credential: string
  readonly reason: string
  readonly operator: string
}

/** What operators have switched, by provider and credential. */
export async function readSwitches(records: RecordReader): Promise<readonly ProviderSwitch[]> {
  const rows = await records.all(
    records.build.selectFrom('provider_switches').selectAll().orderBy('provider').orderBy('credential'),
  )
  return rows.map(({ provider, credential, is_paused, tried_at }) => ({
    provider,
    credential,
    isPaused: is_paused === 1,
    triedAt: tried_at,
  }))
}

/**
 * Pauses or resumes a provider or one of its credentials, or lets the next request try those that rest; logs that.
 * Every process applies it within a second. Resuming a provider resumes all of its credentials.
 */
export async function switchProvider(records: Records, order: ProviderOrder, now: number): Promise<void> {
  const { action, provider, credential, reason, operator } = order
  const { build } = records
  const row = { provider, credential, is_paused: 0, tried_at: 0 }
  const change = action === 'try' ? { tried_at: now } : { is_paused: action === 'pause' ? 1 : 0 }
  const insert = build
    .insertInto('provider_switches')
    .values({ ...row, ...change })
    .onConflict(conflict => conflict.columns(['provider', 'credential']).doUpdateSet(change))
  const resumed = build
    .updateTable('provider_switches')
    .set({ is_paused: 0 })
    .where('provider', '=', provider)
  const name = credential === '' ? provider : credential
  await records.write([
    { write: insert },
    ...(action === 'resume' && credential === '' ? [{ write: resumed }] : []),
    actionStep(records, {
      operator,
      action: `${action}-provider`,
      accountId: '',
      reason: `${name}: ${reason}`,
      at: now,
    }),
  ])
}
