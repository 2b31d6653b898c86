import t from 'tap'
import { roubles } from '../../contracts/store-under-test.ts'
import { openShopAccount } from '../../fixtures/shop-account.ts'

await t.test('a refund is deducted once from balance and payment, in full or in parts', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.pay(500)
  await shop.spend(100)

  t.match(await shop.refund(payment, 150), { state: 'succeeded' })
  t.match(await shop.refund(payment, 250), { state: 'succeeded' })
  await t.rejects(shop.refund(payment, 1), { code: 'refund_amount' })

  t.equal(await shop.balance(), 0)
  t.equal(shop.sandbox.shop.payment(payment.provider_id ?? '')?.refundedKopecks, 40_000)
  t.match(await shop.service.rows.payment(payment.id), { refunded_micros: roubles(400) })
  t.strictSame(await shop.store.verify(), [])
})

await t.test('the oldest payment is spent first', async t => {
  const shop = await openShopAccount(t)
  const first = await shop.pay(100)
  const second = await shop.pay(100)
  await shop.spend(60)

  await t.rejects(shop.refund(first, 41), { code: 'refund_amount' })
  t.match(await shop.refund(second, 100), { state: 'succeeded' })
  t.match(await shop.refund(first, 40), { state: 'succeeded' })

  t.equal(await shop.balance(), 0)
})

await t.test('a refund that the provider cancels is credited back', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.pay(500)
  shop.sandbox.shop.temper.refunds = 'pending'
  const refund = await shop.refund(payment, 200)
  t.equal(refund.state, 'pending')
  t.equal(await shop.balance(), roubles(300))
  const atProvider = shop.sandbox.shop.refunds.get(refund.provider_id ?? '')
  if (atProvider !== undefined) shop.sandbox.shop.endRefund(atProvider, 'canceled')

  shop.clock.aheadMs += 600_000
  await Promise.all([shop.service.pollDue(), shop.service.pollDue()])

  t.match(await shop.service.rows.refund(refund.id), { state: 'canceled' })
  t.equal(await shop.balance(), roubles(500))
  t.match(await shop.service.rows.payment(payment.id), { refunded_micros: 0 })
  t.strictSame(await shop.store.verify(), [])
})

await t.test('a refund whose response is lost is made once', async t => {
  for (const fault of ['applied-500', 'applied-cut', '500', 'cut'] as const) {
    const shop = await openShopAccount(t)
    const payment = await shop.pay(500)
    shop.sandbox.faults.push(fault)
    const refund = await shop.refund(payment, 200)
    t.equal(refund.state, 'created', fault)
    t.equal(await shop.balance(), roubles(300), fault)

    shop.clock.aheadMs += 600_000
    await shop.service.pollDue()

    t.match(await shop.service.rows.refund(refund.id), { state: 'succeeded' }, fault)
    t.equal(shop.sandbox.shop.refunds.size, 1, fault)
    t.equal(await shop.balance(), roubles(300), fault)
  }
})

await t.test('concurrent refunds and charges never deduct more than the balance', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.pay(500)

  const [spending] = await Promise.allSettled([
    shop.spend(100),
    ...Array.from({ length: 4 }, () => shop.refund(payment, 150)),
  ])

  const sent = shop.sandbox.shop.refunds.size
  t.ok(sent >= 1 && sent <= 3, `${sent} refunds were sent`)
  t.equal(await shop.balance(), roubles(500 - 150 * sent - (spending.status === 'fulfilled' ? 100 : 0)))
  t.strictSame(await shop.store.verify(), [])
})

await t.test('a refund of an old payment is refused, and the message suggests a bank transfer', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.pay(500)
  shop.clock.aheadMs += 3 * 366 * 86_400_000

  await t.rejects(shop.refund(payment, 1), { code: 'refund_late', message: /bank transfer/ })
})
