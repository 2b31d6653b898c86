import t from 'tap'
import type { Test } from 'tap'
import { deleteUnconfirmed } from '../../../../lib/account-area/account-area.ts'
import { forgetUser } from '../../../../lib/administration/forget-user.ts'
import type { Consent } from '../../../../lib/accounts/user-rows.ts'
import type { Clock } from '../../../../lib/platform/clock.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { openNode } from '../../stores/postgres/open-postgres.ts'
import { openNew } from '../../stores/open-store.ts'

const day = 24 * 60 * 60_000
const address = '198.51.100.77'

async function openedAt(open: (clock: Clock) => Promise<StoreUnderTest>) {
  const time = { now: 1_790_000_000_000 }
  const clock = { now: () => time.now }
  const store = await open(clock)
  const { users } = store
  const signUp = async (id: string, isConfirmed = false): Promise<string> => {
    const at = clock.now()
    const consents = (['offer', 'personal-data'] as const).map((kind): Consent => ({
      kind,
      version: '1',
      language: 'ru',
      address,
      at,
    }))
    const email = `${id}@example.org`
    const email_verified = isConfirmed ? 1 : 0
    await users.createUser({ id, email, name: '', created_at: at, updated_at: at, email_verified }, consents)
    const password = { provider_id: 'credential', password: `hash of ${id}`, created_at: at, updated_at: at }
    await users.insert('user_passwords', {
      id: `password of ${id}`,
      user_id: id,
      account_id: id,
      ...password,
    })
    const [membership] = await users.memberships(id)
    return membership?.accountId ?? ''
  }
  const emails = async (): Promise<string[]> =>
    (await users.find('users', {})).map(({ email }) => String(email)).toSorted()
  return { store, time, clock, signUp, emails }
}

async function checkDeletion(t: Test, open: (clock: Clock) => Promise<StoreUnderTest>): Promise<void> {
  const { store, time, clock, signUp, emails } = await openedAt(open)
  const { users, accounts } = store
  const forgotten = await signUp('forgotten')
  await signUp('confirmed', true)
  const left = await signUp('left', true)
  await forgetUser(await store.records(), 'left')
  await accounts.credit({ accountId: await signUp('paid'), amountMicros: 1_000_000, reason: 'test' })
  await accounts.createKey({ accountId: await signUp('keyed') })
  await accounts.createAccount({ email: 'made@example.org', name: 'By an operator' })
  time.now += 6 * day
  await signUp('late')

  t.equal(await deleteUnconfirmed(users, clock), 0, 'not before a week is over')
  time.now += day + 1
  t.equal(await deleteUnconfirmed(users, clock), 1)
  t.equal(await deleteUnconfirmed(users, clock), 0)

  const names = ['confirmed', 'keyed', 'late', 'made', 'paid'].map(name => `${name}@example.org`)
  t.strictSame(await emails(), [...names, 'deleted-left@deleted.invalid'].toSorted())
  const theirs = { column: 'user_id', operator: '=', value: 'forgotten' } as const
  t.equal(await users.count('user_passwords', [theirs]), 0)
  t.equal(await users.count('user_passwords'), 4, 'every other user keeps the password')
  t.strictSame(await users.consents('forgotten'), [])
  t.strictSame(await users.memberships('forgotten'), [])
  for (const id of ['confirmed', 'left', 'paid', 'keyed', 'late'])
    t.equal((await users.consents(id)).length, 2, `the consents of ${id} stay`)
  const known = await store.reports.accounts()
  t.match(known.find(({ id }) => id === forgotten)?.email, /@deleted\.invalid$/)
  t.match(known.find(({ id }) => id === left)?.email, /@deleted\.invalid$/)
  await signUp('forgotten')
  t.equal((await users.consents('forgotten')).length, 2, 'the address is free to sign up again')
}

await t.test('only users without confirmation within a week are deleted, on SQLite', async t => {
  await checkDeletion(t, clock => openNew(t, { clock }))
})

await t.test('only users without confirmation within a week are deleted, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  await checkDeletion(t, clock => openNode(t, url, { clock }))
})
