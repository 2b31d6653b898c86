import type { Test } from 'tap'
import type { Accounts, KeyDirectory } from '../../lib/accounts/accounts.ts'
import { keyDigest } from '../../lib/accounts/key-value.ts'
import { BalanceInsufficientError, HoldResolvedError } from '../../lib/ledger/ledger.ts'
import type { ChargeRequest, Hold, Ledger, ProviderObject } from '../../lib/ledger/ledger.ts'
import { buildPrice } from '../../lib/money/build-price.ts'
import type { Meters } from '../../lib/money/usage.ts'
import { newId } from '../../lib/new-id.ts'

/** A store under test, seen through the interfaces that every store has. */
export interface StoreUnderTest {
  readonly ledger: Ledger
  readonly accounts: Accounts
  readonly keys: KeyDirectory
  /** What the store says of itself when it is asked for breaches. */
  verify(): readonly string[]
  /** Flags and amounts of an account's charges, oldest first. */
  charges(accountId: string): readonly { readonly amount: string; readonly flags: readonly string[] }[]
  /** Ends it as a server ends, and starts it again. */
  restart(): Promise<StoreUnderTest>
}

/** One rouble for a token in, ten for a token out. */
export const testPrice = buildPrice({ model: 'm', rubPerMillion: { input: '1000000', output: '10000000' } })

export const roubles = (amount: number): number => amount * 1_000_000

export function chargeOf(meters: Meters, more: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    provider: 'openai',
    model: 'm',
    dialect: 'openai',
    operation: 'chat',
    outcome: 'completed',
    usageSource: 'provider',
    lines: [{ usage: { meters }, price: testPrice }],
    flags: [],
    ...more,
  }
}

/** An account with so many roubles. */
export async function accountWith(store: StoreUnderTest, amount: number): Promise<string> {
  const { id } = await store.accounts.createAccount({ email: `${newId()}@example.com` })
  if (amount > 0) {
    await store.accounts.credit({ accountId: id, amountMicros: roubles(amount), reason: 'test' })
  }
  return id
}

export function holdOf(store: StoreUnderTest, accountId: string, amount: number): Promise<Hold> {
  return store.ledger.placeHold({
    exchangeId: newId(),
    sequence: 0,
    accountId,
    keyId: 'key',
    amountMicros: roubles(amount),
  })
}

/** What every ledger keeps. */
export async function ledgerContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
  await holdsContract(t, open)
  await chargesContract(t, open)
  await accountsContract(t, open)
  await keysContract(t, open)
  await objectsContract(t, open)
}

async function holdsContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
  await t.test('a hold sets money aside and a release gives it back', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const hold = await holdOf(store, account, 30)
    await hold.durable
    t.equal(hold.isDurable, true)
    t.strictSame(await store.ledger.balance(account), {
      balanceMicros: roubles(100),
      heldMicros: roubles(30),
      availableMicros: roubles(70),
    })
    await store.ledger.release(hold)
    t.equal((await store.ledger.balance(account)).availableMicros, roubles(100))
  })

  await t.test('of 500 holds at once, money for 7 admits exactly 7', async t => {
    const store = await open(t)
    const account = await accountWith(store, 7.5)
    const results = await Promise.allSettled(Array.from({ length: 500 }, () => holdOf(store, account, 1)))
    const refusals = results.filter(result => result.status === 'rejected')
    t.equal(results.length - refusals.length, 7)
    for (const { reason } of refusals) {
      if (!(reason instanceof BalanceInsufficientError)) throw reason
      if (reason.requiredMicros !== roubles(1) || reason.availableMicros !== roubles(0.5))
        t.fail(reason.message)
    }
  })

  await t.test('a hold of nothing is admitted on an empty account', async t => {
    const store = await open(t)
    const account = await accountWith(store, 0)
    await (
      await holdOf(store, account, 0)
    ).durable
    await t.rejects(holdOf(store, account, 0.000001), BalanceInsufficientError)
  })

  await t.test('a hold that is no amount, or of no account, is refused', async t => {
    const store = await open(t)
    const account = await accountWith(store, 1)
    for (const amount of [-0.000001, NaN, Infinity, 0.0000001]) {
      await t.rejects(holdOf(store, account, amount), RangeError, `${amount}`)
    }
    await t.rejects(holdOf(store, 'nobody', 0), { code: 'account_not_found' })
  })

  await t.test('a hold is resolved once', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const charged = await holdOf(store, account, 10)
    await store.ledger.charge(charged, chargeOf({ input: 3 }))
    await t.rejects(store.ledger.charge(charged, chargeOf({ input: 3 })), HoldResolvedError)
    await t.rejects(store.ledger.release(charged), HoldResolvedError)
    const released = await holdOf(store, account, 10)
    await store.ledger.release(released)
    await t.rejects(store.ledger.charge(released, chargeOf({ input: 3 })), HoldResolvedError)
    await t.rejects(store.ledger.release(released), HoldResolvedError)
    t.strictSame(await store.ledger.balance(account), {
      balanceMicros: roubles(97),
      heldMicros: 0,
      availableMicros: roubles(97),
    })
  })

  await t.test('the turns of one exchange are held and charged apart', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const exchangeId = newId()
    for (const sequence of [0, 1, 2]) {
      const request = { exchangeId, sequence, accountId: account, keyId: 'key', amountMicros: roubles(1) }
      await store.ledger.charge(await store.ledger.placeHold(request), chargeOf({ input: 1 }))
    }
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(7))
    t.equal(store.charges(account).length, 3)
  })

  await t.test('a second hold of the same exchange and sequence fails and sets nothing aside', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const request = {
      exchangeId: newId(),
      sequence: 0,
      accountId: account,
      keyId: 'key',
      amountMicros: roubles(1),
    }
    const first = await store.ledger.placeHold(request)
    await first.durable
    const second = await store.ledger.placeHold(request)
    await t.rejects(second.durable)
    t.equal(second.isDurable, false)
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(1))
    await store.ledger.charge(first, chargeOf({ input: 1 }))
    t.strictSame(store.verify(), [])
  })
}

async function chargesContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
  await t.test('a charge takes what the usage costs and frees the rest of the hold', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const result = await store.ledger.charge(
      await holdOf(store, account, 50),
      chargeOf({ input: 2, output: 1 }),
    )
    t.strictSame(result, { amountMicros: roubles(12), overrunMicros: 0 })
    t.strictSame(await store.ledger.balance(account), {
      balanceMicros: roubles(88),
      heldMicros: 0,
      availableMicros: roubles(88),
    })
    t.match(store.charges(account), [{ amount: '12.000000', flags: [] }])
    t.strictSame(store.verify(), [])
  })

  await t.test('a charge beyond its hold takes what is free, and the house pays the rest', async t => {
    const store = await open(t)
    const account = await accountWith(store, 20)
    const other = await holdOf(store, account, 5)
    const beyond = await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ input: 4 }))
    t.strictSame(beyond, { amountMicros: roubles(4), overrunMicros: 0 })
    const overrun = await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ output: 3 }))
    t.strictSame(
      overrun,
      { amountMicros: roubles(11), overrunMicros: roubles(19) },
      'not what the other holds',
    )
    t.strictSame(await store.ledger.balance(account), {
      balanceMicros: roubles(5),
      heldMicros: roubles(5),
      availableMicros: 0,
    })
    await store.ledger.charge(other, chargeOf({ input: 5 }))
    const nothing = await store.ledger.charge(await holdOf(store, account, 0), chargeOf({ input: 1 }))
    t.strictSame(nothing, { amountMicros: 0, overrunMicros: roubles(1) })
    t.match(
      store.charges(account).map(charge => charge.flags),
      [[], ['overrun'], [], ['overrun']],
    )
    t.strictSame(store.verify(), [])
  })

  await t.test('usage of zero is charged zero, with its row', async t => {
    const store = await open(t)
    const account = await accountWith(store, 5)
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 0, output: 0 }))
    t.match(store.charges(account), [{ amount: '0.000000', flags: [] }])
    t.strictSame(store.verify(), [])
  })

  await t.test('the lines of a charge are priced one by one and what is wrong is flagged', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const result = await store.ledger.charge(
      await holdOf(store, account, 5),
      chargeOf(
        {},
        {
          flags: ['usage_inconsistent'],
          lines: [
            { usage: { model: 'm', meters: { input: 1, searches: 2 } }, price: testPrice },
            { usage: { model: 'n', meters: { output: 1, input: NaN }, tier: 'flex' }, price: testPrice },
          ],
        },
      ),
    )
    t.equal(result.amountMicros, roubles(11))
    t.strictSame(store.charges(account)[0]?.flags, [
      'usage_inconsistent',
      'meter_unpriced',
      'tier_unpriced',
      'usage_invalid',
    ])
    t.strictSame(store.verify(), [])
  })

  await t.test('what was held and charged is the same after a restart', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    await store.ledger.charge(await holdOf(store, account, 50), chargeOf({ output: 1 }))
    await (
      await holdOf(store, account, 50)
    ).durable
    const again = await store.restart()
    t.strictSame(
      await again.ledger.balance(account),
      { balanceMicros: roubles(90), heldMicros: 0, availableMicros: roubles(90) },
      'the hold that was left open is released',
    )
    t.strictSame(again.verify(), [])
  })
}

async function accountsContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
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
    t.strictSame(store.verify(), [])
  })

  await t.test('credits of nothing, of less, of no integer and of no account are refused', async t => {
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

  await t.test('an e-mail address has one account, however it is written', async t => {
    const store = await open(t)
    const email = `${newId()}@example.com`
    await store.accounts.createAccount({ email })
    await t.rejects(store.accounts.createAccount({ email: ` ${email.toUpperCase()}` }), {
      code: 'email_taken',
    })
    await t.rejects(store.accounts.createAccount({ email: 'nobody' }), { code: 'email_invalid' })
  })

  await t.test('a change that is refused leaves the others of the same moment alone', async t => {
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
    t.strictSame(store.verify(), [])
  })
}

async function keysContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
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

  await t.test('a revoked key stays revoked and still tells whose it was', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const { id, key } = await store.accounts.createKey({ accountId })
    t.equal(store.keys.findByDigest(keyDigest(key))?.revokedAt, undefined)
    await store.accounts.revokeKey(id)
    const revokedAt = store.keys.findByDigest(keyDigest(key))?.revokedAt
    t.type(revokedAt, 'number')
    await store.accounts.revokeKey(id)
    const again = await store.restart()
    t.equal(again.keys.findByDigest(keyDigest(key))?.revokedAt, revokedAt, 'the first time counts')
    await t.rejects(again.accounts.revokeKey('nothing'), { code: 'key_not_found' })
    await t.rejects(again.accounts.createKey({ accountId: 'nobody' }), { code: 'account_not_found' })
    await t.rejects(again.accounts.createKey({ accountId, budgetMicros: -1 }), { code: 'amount_invalid' })
  })
}

async function objectsContract(t: Test, open: (t: Test) => Promise<StoreUnderTest>): Promise<void> {
  await t.test(
    'an object is found once it is recorded, and belongs to the first who recorded it',
    async t => {
      const store = await open(t)
      const mine = await accountWith(store, 0)
      const other = await accountWith(store, 0)
      const object: ProviderObject = {
        provider: 'openai',
        kind: 'file',
        id: 'file-1',
        accountId: mine,
        credential: 'openai#1',
        exchangeId: newId(),
      }
      t.equal(await store.ledger.findObject('openai', 'file', 'file-1'), undefined)
      await store.ledger.recordObject(object)
      t.strictSame(await store.ledger.findObject('openai', 'file', 'file-1'), object)
      await store.ledger.recordObject({ ...object, accountId: other })
      t.strictSame(await store.ledger.findObject('openai', 'file', 'file-1'), object)
      t.equal(await store.ledger.findObject('openai', 'batch', 'file-1'), undefined)
      t.equal(await store.ledger.findObject('azure', 'file', 'file-1'), undefined)
    },
  )

  await t.test('prices may be recorded any number of times', async t => {
    const store = await open(t)
    await store.ledger.recordPrices([testPrice, testPrice])
    const again = await store.restart()
    await again.ledger.recordPrices([testPrice])
    t.strictSame(again.verify(), [])
  })
}
