import type { Test } from 'tap'
import { addNote, readNotes } from '../../lib/administration/account-acts.ts'
import { Members } from '../../lib/administration/members.ts'
import { setCompany } from '../../lib/documents/company-versions.ts'
import { findAccounts } from '../../lib/stores/records/find-accounts.ts'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { company } from '../fixtures/companies.ts'
import { accountWith, chargeOf, holdOf, roubles } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of accounts and their money, on every store. */
export async function accountsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('credits add up, and a repeat under the same idempotency key changes nothing', async t => {
    const store = await open(t)
    const account = await accountWith(store, 0)
    const credit = { accountId: account, amountMicros: roubles(5), reason: 'gift', idempotencyKey: newId() }
    const first = await store.accounts.credit(credit)
    t.equal(first.balanceMicros, roubles(5))
    const [second, third] = await Promise.all([store.accounts.credit(credit), store.accounts.credit(credit)])
    t.strictSame([second, third], [first, first])
    await t.rejects(store.accounts.credit({ ...credit, amountMicros: roubles(6) }), {
      code: 'idempotency_conflict',
    })
    await store.accounts.credit({ accountId: account, amountMicros: 1, reason: 'gift' })
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(5) + 1)
    t.strictSame(await store.verify(), [])
  })

  await t.test('credits of zero, negative ones, fractions and unknown accounts are refused', async t => {
    const store = await open(t)
    const account = await accountWith(store, 0)
    for (const amountMicros of [0, -1, 0.5, NaN, Infinity, 2 ** 53]) {
      await t.rejects(store.accounts.credit({ accountId: account, amountMicros, reason: '' }), {
        code: 'amount_invalid',
      })
    }
    const nobody = store.accounts.credit({ accountId: 'nobody', amountMicros: 1, reason: '' })
    await t.rejects(nobody, { code: 'account_not_found' })
    const house = store.accounts.credit({ accountId: 'house:revenue', amountMicros: 1, reason: '' })
    await t.rejects(house, { code: 'account_not_found' })
  })

  await t.test('an email address has one account, in whatever case it is written', async t => {
    const store = await open(t)
    const email = `${newId()}@example.com`
    await store.accounts.createAccount({ email })
    await t.rejects(store.accounts.createAccount({ email: ` ${email.toUpperCase()}` }), {
      code: 'email_taken',
    })
    await t.rejects(store.accounts.createAccount({ email: 'nobody' }), { code: 'email_invalid' })
  })

  await t.test('a refused change does not affect others of the same moment', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const hold = await holdOf(store, account, 5)
    const results = await Promise.allSettled([
      store.ledger.charge(hold, chargeOf({ input: 2 })),
      store.accounts.credit({ accountId: 'nobody', amountMicros: 1, reason: '' }),
      store.accounts.credit({ accountId: account, amountMicros: roubles(1), reason: '' }),
      store.accounts.revokeKey('nothing'),
    ])
    t.strictSame(
      results.map(result => result.status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(9))
    t.strictSame(await store.verify(), [])
  })
}

/** The contract of keys, on every store. */
export async function keysContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a key is found by its digest as soon as it is made, and after a restart', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const limits = {
      name: 'laptop',
      models: ['gpt-*'],
      budgetMicros: roubles(5),
      budgetPeriod: 'day' as const,
      expiresAt: 9_999_999_999_999,
      ipAddresses: ['10.0.0.1'],
    }
    const { id, key } = await store.accounts.createKey({ accountId, ...limits })
    t.match(key, /^gw-[\w-]{43}$/)
    const found = store.keys.findByDigest(keyDigest(key))
    t.match(found, { id, accountId, lastFour: key.slice(-4), ...limits })
    const again = await store.restart()
    t.strictSame(again.keys.findByDigest(keyDigest(key)), found)
    t.equal(again.keys.findByDigest(keyDigest(`${key}x`)), undefined)
  })

  await t.test('a revoked key stays revoked and still names its account', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const { id, key } = await store.accounts.createKey({ accountId })
    t.equal(store.keys.findByDigest(keyDigest(key))?.revokedAt, undefined)
    await store.accounts.revokeKey(id)
    const revokedAt = store.keys.findByDigest(keyDigest(key))?.revokedAt
    t.type(revokedAt, 'number')
    await store.accounts.revokeKey(id)
    const again = await store.restart()
    t.equal(again.keys.findByDigest(keyDigest(key))?.revokedAt, revokedAt, 'the first revocation counts')
    await t.rejects(again.accounts.revokeKey('nothing'), { code: 'key_not_found' })
    await t.rejects(again.accounts.createKey({ accountId: 'nobody' }), { code: 'account_not_found' })
    await t.rejects(again.accounts.createKey({ accountId, budgetMicros: -1 }), { code: 'amount_invalid' })
  })

  await t.test("a blocked account's keys are blocked, and it gets none until the block ends", async t => {
    const store = await open(t)
    const [accountId, other] = [await accountWith(store, 1), await accountWith(store, 1)]
    const { key } = await store.accounts.createKey({ accountId })
    const { key: otherKey } = await store.accounts.createKey({ accountId: other })
    const block = { accountId, isBlocked: true, reason: 'stolen card', operator: 'olga' }
    const blockedAt = (from: typeof store, value: string) =>
      from.keys.findByDigest(keyDigest(value))?.blockedAt

    const first = await store.accounts.setBlocked(block)
    t.type(first.blockedAt, 'number')
    t.strictSame(
      await store.accounts.setBlocked({ ...block, reason: 'again' }),
      first,
      'the first block counts',
    )
    t.equal(blockedAt(store, key), first.blockedAt)
    t.equal(blockedAt(store, otherKey), undefined)
    await t.rejects(store.accounts.createKey({ accountId }), { code: 'account_blocked' })
    for (const nobody of ['nobody', 'house:cash']) {
      await t.rejects(store.accounts.setBlocked({ ...block, accountId: nobody }), {
        code: 'account_not_found',
      })
    }

    const again = await store.restart()
    t.equal(blockedAt(again, key), first.blockedAt)
    const ended = await again.accounts.setBlocked({ ...block, isBlocked: false, reason: 'his own card' })
    t.strictSame(ended, { blockedAt: null })
    t.equal(blockedAt(again, key), undefined)
    t.match((await again.accounts.createKey({ accountId })).key, /^gw-/)
    t.equal(blockedAt(await again.restart(), key), undefined)
    t.strictSame(await store.verify(), [])
  })

  await t.test("operators' actions are logged with the reason, and the log never changes", async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 1)
    const block = { accountId, isBlocked: true, reason: "O'Neil's card; 100 %", operator: 'olga' }
    const unblock = { ...block, isBlocked: false, operator: 'ivan' }
    await store.accounts.setBlocked({ ...unblock, reason: 'nothing to end' })
    await store.accounts.setBlocked(block)
    await Promise.all(['again', 'and again'].map(reason => store.accounts.setBlocked({ ...block, reason })))
    await Promise.all([unblock, unblock, unblock].map(one => store.accounts.setBlocked(one)))
    const records = await store.records()

    const logged = await records.all(records.build.selectFrom('operator_actions').selectAll().orderBy('at'))
    t.match(
      logged
        .map(({ action, operator, account_id: account, reason }) => ({ action, operator, account, reason }))
        .toSorted((one, two) => (one.action < two.action ? -1 : 1)),
      [
        { action: 'block', operator: 'olga', account: accountId, reason: block.reason },
        { action: 'unblock', operator: 'ivan', account: accountId, reason: block.reason },
      ],
    )
    for (const write of [
      records.build.deleteFrom('operator_actions'),
      records.build.updateTable('operator_actions').set({ reason: '' }),
    ]) {
      await t.rejects(records.write([{ write }]), /append-only/)
    }
    t.equal((await records.all(records.build.selectFrom('operator_actions').selectAll())).length, 2)
  })

  await t.test('a note is stored once by its id, belongs to an account, and is never changed', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const records = await store.records()
    const note = { id: newId(), accountId, operator: 'olga', note: "O'Neil; 100 %" }

    t.strictSame([await addNote(records, note, 5), await addNote(records, note, 6)], [true, false])
    await t.rejects(addNote(records, { ...note, id: newId(), accountId: 'nobody' }, 5))

    t.match(await readNotes(records, accountId, 9), [{ at: 5, operator: 'olga', note: note.note }])
    for (const write of [
      records.build.deleteFrom('account_notes'),
      records.build.updateTable('account_notes').set({ note: '' }),
    ]) {
      await t.rejects(records.write([{ write }]), /append-only/)
    }
    t.equal((await readNotes(records, accountId, 9)).length, 1)
  })

  await t.test('accounts are found by the details that customers give to support', async t => {
    const store = await open(t)
    const mail = newId()
    const { id } = await store.accounts.createAccount({
      email: `${mail}@example.org`,
      name: 'ООО 100 % «Шлюз_1»',
    })
    const other = await accountWith(store, 1)
    const { id: keyId, key } = await store.accounts.createKey({ accountId: id })
    await store.accounts.credit({ accountId: id, amountMicros: roubles(1), reason: 'test' })
    const hold = await holdOf(store, id, 1)
    const records = await store.records()
    const find = async (text: string) => (await findAccounts(records, text)).map(found => found.id)

    for (const text of [
      id,
      mail,
      ` ${mail.toUpperCase()}@EXAMPLE.org `,
      keyId,
      hold.exchangeId,
      '100 %',
      'Шлюз_',
      'ооо 100 % «шЛЮЗ_1»',
    ]) {
      t.strictSame(await find(text), [id], text)
    }
    await setCompany(records, other, { ...company, name: 'ООО "Ёлки & Co"' }, 1)
    for (const text of ['ооо "ёлки', 'ЁЛКИ & CO', '& c']) t.strictSame(await find(text), [other], text)
    t.strictSame(await find(company.address), [], 'an address is not a name')
    const member = { id: newId(), email: `${newId()}@example.com` }
    await store.users.createUser({ ...member, name: '', created_at: 1, updated_at: 1, email_verified: 1 }, [])
    const [own] = await store.users.memberships(member.id)
    const members = new Members({ records, clock: { now: () => 1 } })
    await members.invite({ accountId: other, email: member.email, invitedBy: member.id })
    await members.accept(member, other)
    t.strictSame(
      new Set(await find(member.email.toUpperCase())),
      new Set([other, own?.accountId]),
      'by the email of a member',
    )
    t.ok((await find(key.slice(-4))).includes(id))
    t.ok((await find('@')).includes(other))
    for (const text of ['0 %%', 'Шлюз1_', '\\', "' OR 1=1 --", 'house:cash', '%', '_x_']) {
      t.strictSame(
        (await find(text)).filter(found => found !== id || !'ООО 100 % «Шлюз_1»'.includes(text)),
        [],
        text,
      )
    }
    for (const text of ['', '  ', 'x'.repeat(65_536)]) {
      await t.rejects(findAccounts(records, text), { name: 'RangeError', message: /1 to 200 characters/ })
    }
  })
}
