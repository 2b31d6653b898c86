import type { Test } from 'tap'
import type { Consent, RowCondition, UserRow } from '../../lib/accounts/user-rows.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { roubles } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

function userRow() {
  const id = newId()
  return { id, email: `${id}@example.com`, name: '', created_at: 1, updated_at: 1, email_verified: 0 }
}

function sessionRow(userId: string, expiresAt: number): UserRow & { id: string } {
  const id = newId()
  return {
    id,
    user_id: userId,
    token: newId(),
    expires_at: expiresAt,
    ip_address: null,
    user_agent: '',
    created_at: 1,
    updated_at: 1,
  }
}

const is = (column: string, value: string | number | null): RowCondition => ({ column, operator: '=', value })

const consent: Consent = { kind: 'offer', version: '1', language: 'ru', address: '::1', at: 5 }

/** The contract of users, on every store. */
export async function usersContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a new user has an account and the consents', async t => {
    const store = await open(t)
    const user = userRow()

    await store.users.createUser(user, [consent, { ...consent, kind: 'personal-data' }])

    const [membership, ...more] = await store.users.memberships(user.id)
    t.same(more, [])
    t.equal(membership?.role, 'owner')
    t.strictSame(await store.users.consents(user.id), [consent, { ...consent, kind: 'personal-data' }])
    const accountId = membership?.accountId ?? ''
    await store.accounts.credit({ accountId, amountMicros: roubles(3), reason: 'test' })
    t.equal((await store.ledger.balance(accountId)).balanceMicros, roubles(3))
    await t.rejects(store.accounts.createAccount({ email: user.email }), { code: 'email_taken' })
    t.strictSame(await store.verify(), [])
  })

  await t.test('a user who cannot be created leaves nothing behind', async t => {
    const store = await open(t)
    const user = userRow()
    await store.users.createUser(user, [])

    await t.rejects(store.users.createUser({ ...userRow(), email: user.email.toUpperCase() }, [consent]))
    const other = userRow()
    await t.rejects(store.users.createUser(other, [{ ...consent, kind: 'nothing' as 'offer' }]))

    t.equal(await store.users.count('users'), 1)
    t.equal((await store.reports.accounts()).length, 1)
    t.strictSame(await store.users.consents(other.id), [])
  })

  await t.test('an account made by the command line has a user, who owns it', async t => {
    const store = await open(t)
    const { id } = await store.accounts.createAccount({ email: 'Made@Example.com' })

    const [user] = await store.users.find('users', { where: [is('email', 'made@example.com')] })

    t.match(user, { email_verified: 0, two_factor_enabled: 0, language: null })
    t.strictSame(await store.users.memberships(String(user?.['id'])), [{ accountId: id, role: 'owner' }])
  })

  await t.test('rows are found, ordered, counted, changed and deleted by conditions', async t => {
    const store = await open(t)
    const { users } = store
    const user = userRow()
    await users.createUser(user, [])
    const rows = [10, 30, 20].map(end => sessionRow(user.id, end))
    for (const row of rows) await users.insert('user_sessions', row)
    const ends = (found: readonly UserRow[]): unknown[] => found.map(row => row['expires_at'])
    const orderBy = { column: 'expires_at', isDescending: true }

    t.strictSame(ends(await users.find('user_sessions', { orderBy })), [30, 20, 10])
    t.strictSame(ends(await users.find('user_sessions', { orderBy, limit: 1, offset: 1 })), [20])
    t.equal(await users.count('user_sessions', [{ column: 'expires_at', operator: '>=', value: 20 }]), 2)
    const some: RowCondition = { column: 'id', operator: 'in', value: rows.slice(0, 2).map(({ id }) => id) }
    t.equal(await users.count('user_sessions', [some]), 2)
    t.equal(await users.count('user_sessions', [{ ...some, value: [] }]), 0)
    t.equal(
      await users.count('user_sessions', [
        { ...is('expires_at', 10), isOr: true },
        { ...is('expires_at', 30), isOr: true },
      ]),
      2,
    )
    t.equal(await users.count('user_sessions', [is('ip_address', null)]), 3)
    const change = { set: { user_agent: 'x' }, add: { expires_at: 5 } }
    t.strictSame(ends(await users.update('user_sessions', [is('expires_at', 10)], change)), [15])
    t.equal((await users.delete('user_sessions', [is('user_id', user.id)], 2)).length, 2)
    t.equal(await users.count('user_sessions'), 1)
    t.strictSame(
      await users.update('user_sessions', [], change),
      [],
      'without a condition nothing is changed',
    )
    t.strictSame(await users.delete('user_sessions', []), [], 'or deleted')
  })

  await t.test('of many who use up a one-time row at once, one gets it', async t => {
    const { users } = await open(t)
    const row = { id: newId(), identifier: 'link', value: 'x', expires_at: 1, created_at: 1, updated_at: 1 }
    await users.insert('user_verifications', row)

    const taken = await Promise.all(
      Array.from({ length: 8 }, () => users.delete('user_verifications', [is('identifier', 'link')], 1)),
    )

    t.equal(taken.flat().length, 1)
  })

  await t.test('only known names of tables and columns are accepted', async t => {
    const { users } = await open(t)
    await t.rejects(users.find('users', { where: [is('id = id --', 'x')] }), TypeError)
    await t.rejects(users.insert('users', { 'id) VALUES (1) --': 'x' }), TypeError)
    await t.rejects(users.find('users', { orderBy: { column: 'balance', isDescending: false } }), TypeError)
  })

  await t.test("a store's secret is created once", async t => {
    const { users } = await open(t)
    const [one, other] = await Promise.all([users.secret('a', 'first'), users.secret('a', 'second')])

    t.equal(one, other)
    t.equal(await users.secret('a', 'third'), one)
    t.equal(await users.secret('b', 'own'), 'own')
  })
}
