import t from 'tap'
import { newId } from '../../../lib/platform/new-id.ts'
import { roubles } from '../../contracts/store-under-test.ts'
import { openShopAccount } from '../../fixtures/shop-account.ts'

await t.test('a paid payment is credited once, however often it is reported and checked', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.create()
  t.equal(payment.state, 'pending')
  t.match(payment.confirmation_url, /\/pay\//)
  shop.sandbox.shop.pay(shop.shopPayment(payment), 'bank_card')

  await Promise.all([
    shop.service.notified(shop.notification(payment)),
    shop.service.notified(shop.notification(payment)),
    shop.service.payments.check(payment),
    shop.service.reconcile(shop.clock.now() - 1000, shop.clock.now() + 1000),
  ])

  t.equal(await shop.state(payment), 'succeeded')
  t.equal(await shop.balance(), roubles(500))
  t.strictSame(await shop.store.verify(), [])
})

await t.test('a forged notification changes nothing', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.create()

  t.equal(await shop.service.notified(shop.notification(payment)), 'settled')
  t.equal(await shop.service.notified({ event: 'payment.succeeded' }), 'unknown')
  t.equal(await shop.service.notified('text'), 'unknown')
  await t.rejects(shop.service.notified({ event: 'payment.succeeded', object: { id: newId() } }), {
    name: 'ProviderError',
    failure: 'not_found',
  })

  t.equal(await shop.state(payment), 'pending')
  t.equal(await shop.balance(), 0)
})

await t.test('a payment whose creation has no response is created once and found', async t => {
  for (const fault of ['applied-500', 'applied-202', 'applied-cut', '500', '429', 'cut'] as const) {
    const shop = await openShopAccount(t)
    shop.sandbox.faults.push(fault)
    const payment = await shop.create()
    t.equal(payment.state, 'created', fault)

    shop.clock.aheadMs += 60_000
    await shop.service.pollDue()

    t.equal(await shop.state(payment), 'pending', fault)
    t.equal(shop.sandbox.shop.payments.size, 1, fault)
  }
})

await t.test('once its key has expired, a creation without a response is not repeated', async t => {
  const shop = await openShopAccount(t)
  shop.sandbox.faults.push('applied-cut')
  const lost = await shop.create()
  shop.sandbox.faults.push('cut')
  const never = await shop.create()
  const [made] = [...shop.sandbox.shop.payments.values()]
  if (made !== undefined) shop.sandbox.shop.pay(made, 'bank_card')

  shop.clock.aheadMs += 25 * 3_600_000
  await shop.service.pollDue()

  t.equal(await shop.state(lost), 'succeeded')
  t.equal(await shop.state(never), 'canceled')
  t.equal(shop.sandbox.shop.payments.size, 1)
  t.equal(await shop.balance(), roubles(500))
})

await t.test('a payment that expires is canceled with the reason', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.create()

  shop.clock.aheadMs += 3_700_000
  await shop.service.pollDue()

  t.match(await shop.service.rows.payment(payment.id), {
    state: 'canceled',
    failure: 'yoo_money/expired_on_confirmation',
  })
})

await t.test('a payment that differs at the provider is reported and not credited', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.create()
  const paid = shop.shopPayment(payment)
  shop.sandbox.shop.payments.set(paid.id, {
    ...paid,
    status: 'succeeded',
    body: { ...paid.body, amount: { value: '5.00', currency: 'RUB' } },
  })

  await shop.service.notified(shop.notification(payment))
  const found = await shop.service.reconcile(shop.clock.now() - 1000, shop.clock.now() + 1000)

  t.match(found.differences, [{ payment: payment.id, difference: /the amount is 5.00, not 500.00/ }])
  t.match(await shop.service.rows.payment(payment.id), { state: 'pending', difference: /the amount/ })
  t.equal(await shop.balance(), 0)
})

await t.test('payments during an outage of the provider are settled when it is back', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.create()
  shop.sandbox.shop.pay(shop.shopPayment(payment), 'sbp')
  shop.sandbox.isDown = true
  const during = await shop.create()
  for (let minute = 0; minute < 60; minute += 5) {
    shop.clock.aheadMs += 300_000
    await shop.service.pollDue()
  }
  t.equal(await shop.state(payment), 'pending')
  t.equal(await shop.state(during), 'created')

  shop.sandbox.isDown = false
  shop.clock.aheadMs += 3_600_000
  await shop.service.pollDue()

  t.equal(await shop.state(payment), 'succeeded')
  t.equal(await shop.state(during), 'pending')
  t.equal(await shop.balance(), roubles(500))
})

await t.test('a receipt is polled until it is registered, and created again after a failure', async t => {
  const shop = await openShopAccount(t)
  shop.sandbox.shop.temper.receipts = 'canceled'
  const payment = await shop.create()
  shop.sandbox.shop.pay(shop.shopPayment(payment), 'bank_card')
  await shop.service.payments.check(payment)
  await shop.service.pollDue()
  t.match(await shop.service.rows.receipts(shop.accountId, 9), [{ state: 'canceled', kind: 'payment' }])

  shop.sandbox.shop.temper.receipts = 'succeeded'
  shop.clock.aheadMs += 3_600_000
  await shop.service.pollDue()

  t.match(await shop.service.rows.receipts(shop.accountId, 9), [
    { state: 'succeeded', document_number: /^\d+$/, next_poll_at: null },
  ])
})

await t.test('amounts that no provider accepts are refused before anything is saved', async t => {
  const shop = await openShopAccount(t)

  for (const amount of [0.5, 0.001, 350_001, 1.005])
    await t.rejects(shop.create(amount), { code: 'payment_amount' })

  t.strictSame(await shop.service.rows.payments({}), [])
})
