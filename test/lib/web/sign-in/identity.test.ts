import t from 'tap'
import type { Test } from 'tap'
import { MemoryFailureCounts } from '../../../../lib/rate-limits/failure-counts.ts'
import { Attempts } from '../../../../lib/web/sign-in/attempts.ts'
import type { AttemptLimits } from '../../../../lib/web/sign-in/attempts.ts'
import {
  createAuth,
  deleteExpired,
  customerTables,
  type SignInEmails,
} from '../../../../lib/web/sign-in/auth.ts'
import { Identity } from '../../../../lib/web/sign-in/identity.ts'
import { Sessions } from '../../../../lib/web/sign-in/sessions.ts'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { fastPasswordCost } from '../../../fixtures/account-area.ts'
import { openNew } from '../../stores/open-store.ts'

const password = 'correct horse battery'
const caller = { address: '198.51.100.1', cookie: '', userAgent: 'Test/1.0' }
const limits = { slowFrom: 2, lockFrom: 4, forgetMs: 1000 }
const manyFrom = { slowFrom: 20, lockFrom: 6, forgetMs: 1000 }
const unlimited = { slowFrom: Infinity, lockFrom: Infinity, forgetMs: 1000 }
const emailsMax = { slowFrom: Infinity, lockFrom: 6, forgetMs: 1000 }

async function openIdentity(t: Test, onConfirmed: (email: string) => Promise<void> = async () => undefined) {
  const store = await openNew(t)
  const time = { now: 0 }
  const waits: number[] = []
  const wait = (ms: number): Promise<unknown> => Promise.resolve(waits.push(ms))
  const tokens: string[] = []
  const emails: SignInEmails = {
    confirm: (_to, token) => tokens.push(token),
    alreadySignedUp: () => undefined,
    resetPassword: (_to, token) => tokens.push(token),
    passwordChanged: () => undefined,
  }
  const counts = new MemoryFailureCounts({ now: () => time.now })
  const attempts = (kind: string, limits: AttemptLimits): Attempts =>
    new Attempts({ counts, kind, limits, wait })
  const auth = createAuth({
    cookiePrefix: 'account',
    tables: customerTables,
    users: store.users,
    publicUrl: new URL('http://127.0.0.1:8081'),
    secret: 's'.repeat(43),
    name: 'Gateway',
    emails,
    onPasswordReset: (email, isFirst) => (isFirst ? onConfirmed(email) : Promise.resolve()),
    passwordCost: fastPasswordCost,
    log: { debug: () => undefined, error: () => undefined },
  })
  const identity = new Identity({
    onConfirmed,
    auth,
    users: store.users,
    attempts: {
      byEmail: attempts('byEmail', limits),
      byEmailAnywhere: attempts('byEmailAnywhere', unlimited),
      byAddress: attempts('byAddress', manyFrom),
      emailsTo: attempts('emailsTo', emailsMax),
      emailsFrom: attempts('emailsFrom', unlimited),
    },
  })
  const signUp = async (email: string): Promise<void> => {
    await identity.signUp({ email, password, language: 'ru', consents: [] }, caller)
    await identity.confirm(tokens.at(-1) ?? '', password, caller)
  }
  return {
    store,
    time,
    waits,
    identity,
    signUp,
    tokens,
    sessions: new Sessions({ auth, users: store.users }),
  }
}

await t.test('guessing a password is slowed down, and then locked even for the right password', async t => {
  const { identity, signUp, waits, time } = await openIdentity(t)
  await signUp('a@example.org')
  await signUp('b@example.org')
  for (let times = 0; times < 4; times += 1)
    t.same(await identity.signIn('a@example.org', `wrong ${times} password`, caller), { kind: 'refused' })
  t.same(waits, [250, 500])

  const wrong = await identity.signIn('a@example.org', 'still wrong', caller)
  const right = await identity.signIn('a@example.org', password, caller)

  t.same(right, wrong, 'the response to a right and a wrong password is the same')
  const elsewhere = { ...caller, address: '198.51.100.2' }
  t.match(
    await identity.signIn('b@example.org', password, elsewhere),
    { kind: 'signed-in' },
    'other users can sign in',
  )
  time.now = 1000
  t.match(
    await identity.signIn('a@example.org', password, caller),
    { kind: 'signed-in' },
    'the user can sign in after waiting',
  )
})

await t.test('resetting the password by email ends a lock that others caused', async t => {
  const { identity, signUp, tokens } = await openIdentity(t)
  await signUp('a@example.org')
  for (let times = 0; times < 4; times += 1) await identity.signIn('a@example.org', 'wrong password', caller)
  t.same(await identity.signIn('a@example.org', password, caller), { kind: 'refused' })

  await identity.forgotPassword('a@example.org', caller)
  const set = await identity.resetPassword(tokens.at(-1) ?? '', 'quite a new password', caller)
  t.match(set, { kind: 'signed-in' })

  t.match(await identity.signIn('a@example.org', 'quite a new password', caller), { kind: 'signed-in' })
})

await t.test('an address that tries many users is locked out, even with successes in between', async t => {
  const { identity, signUp } = await openIdentity(t)
  await signUp('own@example.org')
  await signUp('other@example.org')
  const attacker = { ...caller, address: '203.0.113.9' }
  for (let times = 0; times < 6; times += 1) {
    await identity.signIn(`nobody-${times}@example.org`, 'a common password', attacker)
    if (times < 5) await identity.signIn('own@example.org', password, attacker)
  }

  t.same(await identity.signIn('other@example.org', password, attacker), { kind: 'refused' })
  t.match(await identity.signIn('other@example.org', password, caller), { kind: 'signed-in' })
})

await t.test('all addresses of one IPv6 network count as one, in any spelling', async t => {
  const { identity, signUp } = await openIdentity(t)
  await signUp('a@example.org')
  const from = (address: string) => ({ ...caller, address })
  const network = ['2001:db8:0:7::1', '2001:db8::7:1:2:3:4', '2001:DB8:0:7:0:0:0:2', '2001:0db8:0000:0007::']
  for (const address of [...network, ...network].slice(0, 6))
    await identity.signIn(`nobody@${address.length}.example.org`, 'a common password', from(address))

  t.same(await identity.signIn('a@example.org', password, from('2001:db8:0:7::abcd')), { kind: 'refused' })
  t.match(await identity.signIn('a@example.org', password, from('2001:db8:0:8::1')), { kind: 'signed-in' })
})

await t.test('a locked-out address cannot lock other users out', async t => {
  const { identity, signUp } = await openIdentity(t)
  await signUp('a@example.org')
  const attacker = { ...caller, address: '203.0.113.9' }
  for (let times = 0; times < 6; times += 1)
    await identity.signIn(`nobody-${times}@example.org`, 'a common password', attacker)

  for (let times = 0; times < 6; times += 1)
    await identity.signIn('a@example.org', 'wrong password', attacker)

  t.match(await identity.signIn('a@example.org', password, caller), { kind: 'signed-in' })
})

await t.test('concurrent sign-ups with one address create one user', async t => {
  const { identity, store } = await openIdentity(t)
  const user = { email: 'twice@example.org', password, language: 'ru', consents: [] }

  const done = await Promise.all([1, 2, 3].map(() => identity.signUp(user, caller)))

  t.same(done, [true, true, true])
  t.equal(await store.users.count('users'), 1)
  t.equal(await store.users.count('user_passwords'), 1)
  t.equal((await store.reports.accounts()).length, 1)
})

await t.test('a confirmation link works only for its own address', async t => {
  const { identity, tokens } = await openIdentity(t)
  await identity.signUp({ email: 'one@example.org', password, language: 'ru', consents: [] }, caller)
  const [token = ''] = tokens
  await identity.signUp(
    { email: 'two@example.org', password: 'quite another one', language: 'ru', consents: [] },
    caller,
  )

  t.same(await identity.confirm(token, 'quite another one', caller), { kind: 'refused' })
  t.equal(await identity.confirm(`${token}x`, password, caller), undefined)
  t.match(await identity.confirm(token, password, caller), { kind: 'signed-in' })
})

await t.test('expired sessions are deleted, and current ones are kept', async t => {
  const { store, signUp } = await openIdentity(t)
  await signUp('a@example.org')
  await signUp('b@example.org')
  const [session] = await store.users.find('user_sessions', { limit: 1 })
  await store.users.update('user_sessions', [{ column: 'id', operator: '=', value: session?.['id'] ?? '' }], {
    set: { expires_at: 1 },
  })

  t.equal(await deleteExpired(store.users, customerTables, systemClock), 1)
  t.equal(await store.users.count('user_sessions'), 1)
})

await t.test(
  'guessing locks out the address of the guesser, and the owner can sign in elsewhere',
  async t => {
    const { identity, signUp } = await openIdentity(t)
    await signUp('owner@example.org')
    const stranger = { ...caller, address: '203.0.113.66' }
    for (let count = 0; count < 30; count += 1)
      await identity.signIn('owner@example.org', 'wrong password', stranger)

    t.match(await identity.signIn('owner@example.org', password, stranger), { kind: 'refused' })
    t.match(await identity.signIn('owner@example.org', password, caller), { kind: 'signed-in' })
  },
)

await t.test('a link by email lets the owner sign in from a locked-out network', async t => {
  const { identity, signUp, tokens } = await openIdentity(t)
  await signUp('owner@example.org')
  for (let count = 0; count < 10; count += 1)
    await identity.signIn(`nobody-${count}@example.org`, 'a common password', caller)
  t.match(await identity.signIn('owner@example.org', password, caller), { kind: 'refused' })

  await identity.forgotPassword('owner@example.org', caller)
  const token = tokens.at(-1) ?? ''

  t.match(await identity.resetPassword(token, 'quite a new password', caller), { kind: 'signed-in' })
  t.equal(await identity.resetPassword(token, 'quite a new password', caller), undefined, 'once')
  t.match(
    await identity.signIn('owner@example.org', 'a wrong password', caller),
    { kind: 'refused' },
    'the network stays locked out',
  )
})

await t.test('sign-ups with an existing address do not use up the owner’s password emails', async t => {
  const { identity, signUp, tokens } = await openIdentity(t)
  await signUp('owner@example.org')
  const user = { email: 'owner@example.org', password, language: 'ru', consents: [] }
  for (let times = 0; times < 20; times += 1) await identity.signUp(user, caller)
  const before = tokens.length

  await identity.forgotPassword('owner@example.org', caller)

  t.equal(tokens.length, before + 1)
  for (let times = 0; times < 20; times += 1) await identity.forgotPassword('owner@example.org', caller)
  t.equal(tokens.length, before + 6, 'at most six emails are sent')
  const first = await identity.resetPassword(tokens[before] ?? '', 'quite a new password', caller)
  t.match(first, { kind: 'signed-in' }, 'each link works')
})

await t.test('a failed confirmation hook is called again on the next confirmation', async t => {
  const confirmed: string[] = []
  const { identity, tokens } = await openIdentity(t, async email => {
    confirmed.push(email)
    if (confirmed.filter(one => one === email).length === 1) throw new Error('the store is away')
  })
  for (const email of ['link@example.org', 'password@example.org'])
    await identity.signUp({ email, password, language: 'ru', consents: [] }, caller)
  const [link = '', other = ''] = tokens

  await t.rejects(identity.confirm(link, password, caller), /the store is away/)
  t.match(await identity.signIn('link@example.org', password, caller), { kind: 'unconfirmed' })
  t.match(await identity.confirm(link, password, caller), { kind: 'signed-in' })

  await identity.forgotPassword('password@example.org', caller)
  const reset = identity.resetPassword(tokens.at(-1) ?? '', 'quite a new password', caller)
  await t.rejects(reset, /the store is away/)
  t.match(await identity.confirm(other, 'quite a new password', caller), { kind: 'signed-in' })
  t.match(await identity.confirm(other, 'quite a new password', caller), { kind: 'signed-in' })

  const both = ['link@example.org', 'password@example.org']
  t.same(
    confirmed,
    both.flatMap(email => [email, email]),
  )
})
