import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, roubles } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

const who = { reason: 'asked for by letter', operator: 'olga' }

async function keyOf(store: StoreUnderTest, accountId: string): Promise<{ id: string; digest: string }> {
  const { id, key } = await store.accounts.createKey({ accountId, name: 'laptop', models: ['gpt-*'] })
  return { id, digest: keyDigest(key) }
}

async function holdBy(store: StoreUnderTest, keyId: string, amount: number, exchangeId = newId()) {
  const key = store.keys.findById(keyId)
  if (key === undefined) throw new Error('the key is not found')
  const { accountId, budgetMicros, budgetPeriod: period = 'total' } = key
  return await store.ledger.placeHold({
    exchangeId,
    sequence: 0,
    accountId,
    keyId,
    ...bothSums(roubles(amount)),
    ...(budgetMicros !== undefined && { budget: { budgetMicros, period } }),
  })
}

/** The contract of changes to keys, on every store. */
export async function keyEditsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test("a key's changes apply at once and after a restart, and other fields stay", async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 1)
    const { id, digest } = await keyOf(store, accountId)

    const edit = { models: null, budgetMicros: roubles(5), budgetPeriod: 'month', expiresAt: 9e12 } as const
    const edited = await store.accounts.editKey({ id, ...who, ...edit, ipAddresses: ['10.0.0.0/8'] })

    t.match(edited, { name: 'laptop', budgetMicros: roubles(5), budgetPeriod: 'month', expiresAt: 9e12 })
    t.equal(edited.models, undefined)
    t.strictSame(store.keys.findByDigest(digest), edited)
    const again = await store.restart()
    t.strictSame(again.keys.findByDigest(digest), edited)
    const open2 = await again.accounts.editKey({
      id,
      ...who,
      budgetMicros: null,
      expiresAt: null,
      name: 'x',
    })
    t.equal(open2.budgetMicros ?? open2.budgetPeriod ?? open2.expiresAt, undefined)
    t.match(open2, { name: 'x', ipAddresses: ['10.0.0.0/8'] })
    const records = await again.records()
    const logged = await records.all(records.build.selectFrom('operator_actions').selectAll())
    t.strictSame(
      new Set(
        logged.map(({ action, operator, account_id: account, reason }) =>
          [action, operator, account, reason].join('|'),
        ),
      ),
      new Set([
        `edit-key|olga|${accountId}|${id}: models all; budget 5.000000 month; expires 2255-03-14T16:00:00.000Z; addresses 10.0.0.0/8 (${who.reason})`,
        `edit-key|olga|${accountId}|${id}: name x; no budget; no expiry (${who.reason})`,
      ]),
    )
    t.strictSame(await store.verify(), [])
  })

  await t.test('a budget that is set later counts earlier spending and holds, and may be raised', async t => {
    const store = await open(t)
    const { id } = await keyOf(store, await accountWith(store, 100))
    await store.ledger.charge(await holdBy(store, id, 5), chargeOf({ input: 3 }))
    const held = await holdBy(store, id, 4)

    await store.accounts.editKey({ id, ...who, budgetMicros: roubles(10) })
    await t.rejects(holdBy(store, id, 4), { name: 'KeyBudgetExceededError' })
    const fits = await holdBy(store, id, 3)
    await store.ledger.release(fits)
    await store.ledger.charge(held, chargeOf({ input: 4 }))
    await t.rejects(holdBy(store, id, 4), { name: 'KeyBudgetExceededError' })
    await store.ledger.release(await holdBy(store, id, 3))

    await store.accounts.editKey({ id, ...who, budgetMicros: roubles(11) })
    await store.ledger.release(await holdBy(store, id, 4))
    await store.accounts.editKey({ id, ...who, budgetMicros: null })
    await store.ledger.charge(await holdBy(store, id, 50), chargeOf({ input: 50 }))
    await store.accounts.editKey({ id, ...who, budgetMicros: roubles(58) })
    await t.rejects(holdBy(store, id, 2), { name: 'KeyBudgetExceededError' })
    await store.ledger.release(await holdBy(store, id, 1))
    const again = await store.restart()
    await t.rejects(holdBy(again, id, 2), { name: 'KeyBudgetExceededError' })
    await again.ledger.release(await holdBy(again, id, 1))
    t.strictSame(await again.verify(), [])
  })

  await t.test('a first budget counts a charge of the same moment', async t => {
    const store = await open(t)
    const { id } = await keyOf(store, await accountWith(store, 100))
    const hold = await holdBy(store, id, 10)
    await hold.durable

    const charged = store.ledger.charge(hold, chargeOf({ input: 10 }))
    const edited = store.accounts.editKey({ id, ...who, budgetMicros: roubles(10) })
    await Promise.all([charged, edited])

    await t.rejects(holdBy(store, id, 1), {
      name: 'KeyBudgetExceededError',
      budget: { spentMicros: roubles(10) },
    })
    t.strictSame(await store.verify(), [])
  })

  await t.test('a first budget counts nothing for an earlier charge that the store refuses', async t => {
    const store = await open(t)
    const { id } = await keyOf(store, await accountWith(store, 100))
    const exchangeId = newId()
    const first = await holdBy(store, id, 1, exchangeId)
    await first.durable
    await store.ledger.release(first)

    const refused = holdBy(store, id, 5, exchangeId).then(twice =>
      store.ledger.charge(twice, chargeOf({ input: 5 })),
    )
    const edited = setImmediate().then(() =>
      store.accounts.editKey({ id, ...who, budgetMicros: roubles(10) }),
    )
    await t.rejects(refused)
    await edited

    await t.rejects(holdBy(store, id, 11), { name: 'KeyBudgetExceededError', budget: { spentMicros: 0 } })
    await store.ledger.charge(await holdBy(store, id, 10), chargeOf({ input: 10 }))
    const again = await store.restart()
    await t.rejects(holdBy(again, id, 1), {
      name: 'KeyBudgetExceededError',
      budget: { spentMicros: roubles(10) },
    })
    t.strictSame(await again.verify(), [])
  })

  await t.test('an empty edit, an unknown or revoked key and an invalid limit change nothing', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 1)
    const { id, digest } = await keyOf(store, accountId)
    const { id: revoked } = await keyOf(store, accountId)
    await store.accounts.revokeKey(revoked)
    const before = store.keys.findByDigest(digest)

    const refused = (edit: object) => store.accounts.editKey({ id, ...who, ...edit })
    await t.rejects(refused({}), { code: 'edit_empty' })
    await t.rejects(refused({ id: 'nothing', name: 'x' }), { code: 'key_not_found' })
    await t.rejects(refused({ id: revoked, budgetMicros: 5 }), { code: 'key_revoked' })
    await t.rejects(refused({ budgetMicros: -1 }), { code: 'amount_invalid' })
    await t.rejects(refused({ expiresAt: Number.NaN }), { code: 'expiry_invalid' })

    t.strictSame(store.keys.findByDigest(digest), before)
    const records = await store.records()
    t.strictSame(await records.all(records.build.selectFrom('operator_actions').selectAll()), [])
  })

  await t.test('a key that is edited and revoked at once ends up revoked', async t => {
    const store = await open(t)
    const { id, digest } = await keyOf(store, await accountWith(store, 1))
    const edits = Array.from({ length: 10 }, (_, at) =>
      store.accounts.editKey({ id, ...who, budgetMicros: roubles(at + 1) }).catch(() => undefined),
    )
    await Promise.all([...edits, store.accounts.revokeKey(id)])
    t.type(store.keys.findByDigest(digest)?.revokedAt, 'number')
    const again = await store.restart()
    t.type(again.keys.findByDigest(digest)?.revokedAt, 'number')
  })
}
