import t from 'tap'
import type { Test } from 'tap'
import { monthStart } from '../../../lib/payments/auto-top-up-rules.ts'
import type { AutoTopUp, SavedCard } from '../../../lib/payments/auto-top-up-rows.ts'
import type { Payment } from '../../../lib/payments/payment-reader.ts'
import { holdOf, roubles } from '../../contracts/store-under-test.ts'
import type { OpenStore } from '../../contracts/store-under-test.ts'
import { openService, shopSettings } from '../../fixtures/payment-shop.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openShopAccount } from '../../fixtures/shop-account.ts'
import type { ShopAccount } from '../../fixtures/shop-account.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'

const hour = 3_600_000
const limits = { below: 50, amount: 100, monthMax: 1000 }

interface AutoShop {
  readonly shop: ShopAccount
  readonly card: SavedCard
}

async function switchOn({ shop, card }: AutoShop, { below, amount, monthMax } = limits): Promise<void> {
  await shop.service.auto.write([
    shop.service.auto.switchOn({
      accountId: shop.accountId,
      cardId: card.id,
      belowMicros: roubles(below),
      amountMicros: roubles(amount),
      monthMaxMicros: roubles(monthMax),
      now: shop.clock.now(),
    }),
  ])
}

/** An account with 60 roubles and a saved card, topped up by 100 roubles when the balance is below 50. */
async function openAutoShop(t: Test, open?: OpenStore): Promise<AutoShop> {
  const shop = await openShopAccount(t, open)
  // In the middle of a month, so that no test crosses the end of the month by chance.
  shop.until(new Date(monthStart(shop.clock.now(), 1) + 10 * 24 * hour).toISOString())
  await shop.pay(60, { savesCard: true })
  const [card] = await shop.service.auto.cards(shop.accountId)
  if (card === undefined) throw new Error('no card was saved')
  await switchOn({ shop, card })
  return { shop, card }
}

async function setting(shop: ShopAccount): Promise<AutoTopUp | undefined> {
  return shop.service.auto.setting(shop.accountId)
}

async function automatic(shop: ShopAccount): Promise<readonly Payment[]> {
  const all = await shop.service.rows.payments({ accountId: shop.accountId })
  return all.filter(({ origin }) => origin === 'automatic')
}

async function notices(shop: ShopAccount): Promise<readonly string[]> {
  const records = await shop.store.records()
  const rows = await records.all(records.build.selectFrom('notices').select('kind').orderBy('created_at'))
  return rows.map(({ kind }) => kind)
}

await t.test('a card is saved only at the owner’s request and after a payment with it', async t => {
  const shop = await openShopAccount(t)
  await shop.pay(100)
  const declined = await shop.create(100, { savesCard: true })
  shop.sandbox.shop.cancel(shop.shopPayment(declined), 'insufficient_funds')
  await shop.service.payments.check(declined)
  t.strictSame(await shop.service.auto.cards(shop.accountId), [])

  await shop.pay(100, { savesCard: true })

  t.match(await shop.service.auto.cards(shop.accountId), [{ title: 'Bank card *4477' }])
})

await t.test('a balance below the threshold is topped up once, without confirmation', async t => {
  const { shop } = await openAutoShop(t)
  await shop.service.topUpDue()
  t.strictSame(await automatic(shop), [], 'the balance is above the threshold')

  await shop.spend(20)
  await shop.service.topUpDue()
  await shop.service.topUpDue()

  t.match(await automatic(shop), [{ state: 'succeeded', amount_micros: roubles(100) }])
  t.equal(await shop.balance(), roubles(140))
  t.strictSame(await notices(shop), ['auto-paid'])
  t.strictSame(await shop.store.verify(), [])
})

await t.test('with the shipped settings there are no automatic top-ups', async t => {
  const { shop } = await openAutoShop(t)
  await shop.spend(20)
  Object.assign(shopSettings, { autoTopUp: false })
  t.teardown(() => Object.assign(shopSettings, { autoTopUp: true }))

  await shop.service.topUpDue()

  t.strictSame(await automatic(shop), [])
})

await t.test('money held for running requests counts as spent', async t => {
  const { shop } = await openAutoShop(t)
  const hold = await holdOf(shop.store, shop.accountId, 30)
  await hold.durable

  await shop.service.topUpDue()

  t.equal((await automatic(shop)).length, 1)
})

await t.test('of several nodes at once, one makes the attempt, on SQLite', async t => {
  const { shop } = await openAutoShop(t)
  const other = await openService(t, shop.store, shop.sandbox, shop.clock)
  await shop.spend(20)

  await Promise.all([shop.service, other, shop.service, other].map(service => service.topUpDue()))

  t.equal((await automatic(shop)).length, 1)
  t.equal(shop.sandbox.shop.payments.size, 2)
})

await t.test('of several nodes at once, one attempts, within the month’s limit, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  const { shop, card } = await openAutoShop(t, (t, options) => openNode(t, url, options))
  const second = await openNode(t, url, { clock: shop.clock })
  const other = await openService(t, second, shop.sandbox, shop.clock)
  await switchOn({ shop, card }, { below: 100, amount: 100, monthMax: 150 })

  await Promise.all([shop.service, other, shop.service, other].map(service => service.topUpDue()))
  t.equal((await automatic(shop)).length, 1)
  await shop.spend(150)
  shop.clock.aheadMs += 70_000
  await Promise.all([shop.service, other].map(service => service.topUpDue()))

  t.equal((await automatic(shop)).length, 1)
  t.strictSame((await notices(shop)).toSorted(), ['auto-limit', 'auto-paid'])
  t.equal(await shop.balance(), roubles(10))
  t.strictSame(await shop.store.verify(), [])
})

for (const database of ['SQLite', 'PostgreSQL'] as const) {
  await t.test(`the card of a blocked account is not charged on ${database}`, async t => {
    const server = database === 'PostgreSQL' ? await startPostgres(t) : undefined
    const open: OpenStore | undefined =
      server && (async (t, options) => openNode(t, await server.createDatabase(), options))
    const { shop } = await openAutoShop(t, open)
    const block = { accountId: shop.accountId, reason: 'stolen card', operator: 'olga' }
    const before = await setting(shop)
    await shop.spend(20)
    await shop.store.accounts.setBlocked({ ...block, isBlocked: true })

    await shop.service.topUpDue()
    if (before === undefined) throw new Error('automatic top-ups are not set')
    await t.rejects(
      shop.service.auto.write([shop.service.auto.take(before, shop.clock.now())]),
      { name: 'RecordConflictError' },
      'an attempt that began before the block is refused too',
    )

    t.strictSame(await automatic(shop), [])
    t.equal(shop.sandbox.shop.payments.size, 1)
    t.equal(await shop.balance(), roubles(40))
    t.match(await setting(shop), { state: 'on' }, 'the setting stays for the time after the block')
    await shop.store.accounts.setBlocked({ ...block, isBlocked: false })
    await shop.service.topUpDue()
    t.match(await automatic(shop), [{ state: 'succeeded' }])
    t.equal(await shop.balance(), roubles(140))
    t.strictSame(await shop.store.verify(), [])
  })
}

await t.test('while an attempt is open, no other is made, however long it takes', async t => {
  const { shop } = await openAutoShop(t)
  shop.sandbox.shop.temper.savedCards = 'pending'
  await shop.spend(20)
  for (let hours = 0; hours < 5; hours += 1) {
    await shop.service.topUpDue()
    shop.clock.aheadMs += 10 * 60_000
  }
  const [attempt, ...others] = await automatic(shop)
  t.match(attempt, { state: 'pending' })
  t.strictSame(others, [])
  if (attempt !== undefined) shop.sandbox.shop.pay(shop.shopPayment(attempt), 'bank_card')

  await shop.service.pollDue()
  await shop.service.topUpDue()

  t.equal(await shop.balance(), roubles(140))
})

await t.test('top-ups that stay below the threshold are limited by minute and month', async t => {
  const { shop, card } = await openAutoShop(t)
  await switchOn({ shop, card }, { below: 900, amount: 100, monthMax: 350 })

  for (let minutes = 0; minutes < 30; minutes += 1) {
    await shop.service.topUpDue()
    await shop.service.topUpDue()
    t.ok((await automatic(shop)).length <= minutes + 1, 'at most one attempt a minute')
    shop.clock.aheadMs += 60_000
  }

  t.equal((await automatic(shop)).length, 3, 'the owner’s limit of the month is kept')
  t.equal((await notices(shop)).filter(kind => kind === 'auto-limit').length, 1, 'one notice')
  shop.until(new Date(monthStart(shop.clock.now(), 1)).toISOString())
  await shop.service.topUpDue()
  t.equal((await automatic(shop)).length, 4, 'the next month has a new limit')
})

await t.test('months end at midnight in Moscow', t => {
  const at = (text: string): number => monthStart(Date.parse(text))
  t.equal(at('2026-11-30T20:59:59Z'), Date.parse('2026-10-31T21:00:00Z'))
  t.equal(at('2026-11-30T21:00:00Z'), Date.parse('2026-11-30T21:00:00Z'))
  t.equal(monthStart(Date.parse('2026-12-15T00:00:00Z'), 1), Date.parse('2026-12-31T21:00:00Z'))
  t.end()
})

await t.test('a declined attempt sends a notice and is repeated daily, at most three times', async t => {
  const { shop } = await openAutoShop(t)
  shop.sandbox.shop.temper.savedCards = { declined: 'insufficient_funds' }
  await shop.spend(20)
  await shop.service.topUpDue()
  t.match(await setting(shop), { state: 'on', failures: 1 })
  shop.clock.aheadMs += 23 * hour
  await shop.service.topUpDue()
  t.equal((await automatic(shop)).length, 1, 'no attempt on the same day')

  for (let days = 0; days < 5; days += 1) {
    shop.clock.aheadMs += 25 * hour
    await shop.service.topUpDue()
  }

  t.match(await setting(shop), { state: 'off', off_reason: 'failures', failures: 3 })
  t.equal((await automatic(shop)).length, 3)
  t.strictSame(await notices(shop), ['auto-failed', 'auto-failed', 'auto-failed'])
  t.equal((await shop.service.auto.cards(shop.accountId)).length, 1, 'the card is kept')
})

await t.test('a success resets the count of failures', async t => {
  const { shop } = await openAutoShop(t)
  shop.sandbox.shop.temper.savedCards = { declined: 'insufficient_funds' }
  await shop.spend(20)
  for (let days = 0; days < 2; days += 1) {
    await shop.service.topUpDue()
    shop.clock.aheadMs += 25 * hour
  }
  shop.sandbox.shop.temper.savedCards = 'succeeded'
  await shop.service.topUpDue()

  t.match(await setting(shop), { state: 'on', failures: 0 })
  t.equal(await shop.balance(), roubles(140))
})

await t.test('a revoked permission deletes the card; an expired card only switches top-ups off', async t => {
  for (const [reason, cards, offReason] of [
    ['permission_revoked', 0, 'card'],
    ['card_expired', 1, 'failures'],
  ] as const) {
    const { shop, card } = await openAutoShop(t)
    shop.sandbox.shop.temper.savedCards = { declined: reason }
    await shop.spend(20)

    await shop.service.topUpDue()

    t.match(await setting(shop), { state: 'off', off_reason: offReason }, reason)
    t.equal((await shop.service.auto.cards(shop.accountId)).length, cards, reason)
    if (cards === 0) {
      t.match(await shop.service.auto.card(card.id), { method_id: null, forgotten_by: 'provider' })
    }
    t.strictSame(await notices(shop), ['auto-failed'])
  }
})

await t.test('an unlinked card is never charged again', async t => {
  const { shop, card } = await openAutoShop(t)
  await shop.spend(20)

  await shop.service.auto.write(shop.service.auto.unlink(card, shop.clock.now()))
  await shop.service.topUpDue()

  t.match(await setting(shop), { state: 'off', off_reason: 'card' })
  t.match(await shop.service.auto.card(card.id), { method_id: null, forgotten_by: 'owner' })
  t.strictSame(await automatic(shop), [])
  t.strictSame(await notices(shop), ['card-unlinked'])
  await t.rejects(shop.service.auto.write(shop.service.auto.unlink(card, shop.clock.now())), {
    name: 'RecordConflictError',
  })
})

await t.test('an attempt without a response is not sent again after its card is unlinked', async t => {
  for (const [fault, state, balance] of [
    ['cut', 'canceled', 40],
    ['applied-cut', 'succeeded', 140],
  ] as const) {
    const { shop, card } = await openAutoShop(t)
    await shop.spend(20)
    shop.sandbox.faults.push(fault)
    await shop.service.topUpDue()
    t.match(await automatic(shop), [{ state: 'created' }])
    const before = shop.sandbox.shop.payments.size

    await shop.service.auto.write(shop.service.auto.unlink(card, shop.clock.now()))
    shop.clock.aheadMs += hour
    await shop.service.pollDue()

    t.match(await automatic(shop), [{ state }], fault)
    t.equal(shop.sandbox.shop.payments.size, before, 'the provider has no new payment')
    t.equal(await shop.balance(), roubles(balance), fault)
  }
})

await t.test('an attempt whose response is lost charges the card once', async t => {
  for (const fault of ['applied-500', 'applied-202', 'applied-cut', '500', '429', 'cut'] as const) {
    const { shop } = await openAutoShop(t)
    await shop.spend(20)
    shop.sandbox.faults.push(fault)
    for (let looks = 0; looks < 4; looks += 1) {
      await shop.service.topUpDue()
      await shop.service.pollDue()
      shop.clock.aheadMs += 70_000
    }
    t.equal(await shop.balance(), roubles(140), fault)
    t.equal(shop.sandbox.shop.payments.size, 2, fault)
  }
})

await t.test('a setting changed during an attempt does not get its failure', async t => {
  const { shop, card } = await openAutoShop(t)
  shop.sandbox.shop.temper.savedCards = { declined: 'card_expired' }
  await shop.pay(10, { savesCard: true })
  const other = (await shop.service.auto.cards(shop.accountId)).find(({ id }) => id !== card.id)
  await shop.spend(40)
  shop.sandbox.faults.push('cut')
  await shop.service.topUpDue()
  if (other !== undefined) await switchOn({ shop, card: other })

  shop.clock.aheadMs += hour
  await shop.service.pollDue()

  t.match(
    await setting(shop),
    { state: 'on', failures: 0, card_id: other?.id },
    'the other card has not failed',
  )
})

await t.test('after switching off, no card is charged', async t => {
  const { shop } = await openAutoShop(t)
  await shop.service.auto.write([shop.service.auto.switchOff(shop.accountId, shop.clock.now())])
  await shop.spend(60)
  await shop.service.topUpDue()
  t.strictSame(await automatic(shop), [])
  t.match(await setting(shop), { state: 'off', off_reason: 'owner' })
})
