import t from 'tap'
import { roubles } from '../../contracts/store-under-test.ts'
import { openService, shopSettings } from '../../fixtures/payment-shop.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openShopAccount } from '../../fixtures/shop-account.ts'
import type { ShopAccount } from '../../fixtures/shop-account.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'

/** The amounts in roubles of the offset receipts at the provider, in the order of their creation. */
function offsetsAtProvider({ sandbox }: ShopAccount): string[] {
  return [...sandbox.shop.receipts.values()]
    .flatMap(({ body }) => body.settlements)
    .filter(({ type }) => type === 'prepayment')
    .map(({ amount }) => amount.value)
}

async function closeMonth(shop: ShopAccount): Promise<number> {
  const made = await shop.service.closeLastMonth()
  await shop.service.pollDue()
  return made
}

/** Moves the clock to four hours after the start of the next month in Moscow. */
function nextMonth(shop: ShopAccount): void {
  const now = new Date(shop.clock.now() + 3 * 3_600_000)
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 4) - 3 * 3_600_000
  shop.until(new Date(first).toISOString())
}

await t.test('used prepayments have one offset receipt for each month and payment', async t => {
  const shop = await openShopAccount(t)
  nextMonth(shop)
  const first = await shop.pay(100)
  const second = await shop.pay(100)
  await shop.spend(130)
  t.equal(await closeMonth(shop), 0, 'the month has not ended')
  nextMonth(shop)

  t.equal(await closeMonth(shop), 2)
  t.equal(await closeMonth(shop), 0, 'once')

  t.strictSame(offsetsAtProvider(shop), ['100.00', '30.00'])
  t.match(await shop.read(first), { offset_micros: roubles(100) })
  t.match(await shop.read(second), { offset_micros: roubles(30) })
  const receipts = await shop.service.rows.receipts(shop.accountId, 9)
  t.equal(receipts.filter(({ kind, state }) => kind === 'offset' && state === 'succeeded').length, 2)
  await shop.spend(70)
  nextMonth(shop)
  t.equal(await closeMonth(shop), 1)
  t.strictSame(offsetsAtProvider(shop), ['100.00', '30.00', '70.00'])
  t.strictSame(shop.alarms, [])
})

await t.test('prepayments still have offset receipts after receipts change to full payment', async t => {
  const shop = await openShopAccount(t)
  nextMonth(shop)
  await shop.pay(100)
  nextMonth(shop)
  const { receipts } = shopSettings
  t.teardown(() => Object.assign(shopSettings, { receipts }))
  const changed = { from: shop.clock.now(), vatCode: 11, paymentMode: 'full_payment', subject: 'service' }
  Object.assign(shopSettings, { receipts: [...receipts, changed] })
  await shop.pay(50)
  await shop.spend(130)
  nextMonth(shop)

  t.equal(await closeMonth(shop), 1)

  t.strictSame(offsetsAtProvider(shop), ['100.00'], 'the full payment has no offset receipt')
  const [use] = await shop.service.rows.receipts(shop.accountId, 1)
  t.match(
    JSON.parse(use?.request ?? '{}'),
    { items: [{ amount: { value: '100.00' }, vat_code: 11, payment_mode: 'full_payment' }] },
    'the tax rate is that of the month of use',
  )
})

await t.test('nodes that close a month at once create one receipt, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  const shop = await openShopAccount(t, (t, options) => openNode(t, url, options))
  const second = await openNode(t, url, { clock: shop.clock })
  const other = await openService(t, second, shop.sandbox, shop.clock)
  await shop.pay(100)
  await shop.spend(40)
  nextMonth(shop)

  const made = await Promise.all([shop.service.closeLastMonth(), other.closeLastMonth()])
  await Promise.all([shop.service.pollDue(), other.pollDue()])

  t.equal(made[0] + made[1], 1)
  t.strictSame(offsetsAtProvider(shop), ['40.00'])
})

await t.test('a fraction of a kopeck is carried to the next month, so that sums do not drift', async t => {
  const shop = await openShopAccount(t)
  await shop.pay(100)
  for (const [spent, expected] of [
    [0.004, []],
    [0.004, []],
    [0.004, ['0.01']],
  ] as const) {
    await shop.spend(0)
    await shop.store.accounts.credit({ accountId: shop.accountId, amountMicros: 1, reason: 'x' })
    await shop.spend(spent)
    nextMonth(shop)
    await closeMonth(shop)
    t.strictSame(offsetsAtProvider(shop), expected)
  }
})

await t.test('money is never both refunded and on an offset receipt', async t => {
  const shop = await openShopAccount(t)
  const payment = await shop.pay(100)
  await shop.spend(40)
  nextMonth(shop)

  const [closing] = await Promise.allSettled([
    shop.service.closeLastMonth(),
    shop.refund(payment, 60),
    shop.service.closeLastMonth(),
  ])
  t.equal(closing.status, 'fulfilled')
  const { refunded_micros: refunded, offset_micros: offset, amount_micros: amount } = await shop.read(payment)

  t.ok(refunded + offset <= amount)
  await t.rejects(shop.refund(payment, 61), { code: 'refund_amount' })
  await shop.service.pollDue()
  t.ok(offsetsAtProvider(shop).length <= 1)
  t.strictSame(await shop.store.verify(), [])
})

await t.test('an offset receipt whose response is lost is created once', async t => {
  for (const fault of ['applied-500', 'applied-cut', '500', 'cut'] as const) {
    const shop = await openShopAccount(t)
    await shop.pay(100)
    await shop.service.pollDue()
    await shop.spend(40)
    nextMonth(shop)
    shop.sandbox.faults.push(fault)
    await closeMonth(shop)
    for (let poll = 0; poll < 3; poll += 1) {
      shop.clock.aheadMs += 3_600_000
      await shop.service.pollDue()
    }
    t.strictSame(offsetsAtProvider(shop), ['40.00'], fault)
    const receipts = await shop.service.rows.receipts(shop.accountId, 9)
    t.strictSame(
      receipts.map(({ state }) => state),
      ['succeeded', 'succeeded'],
      fault,
    )
  }
})

await t.test('an offset receipt without a response is searched for once its key has expired', async t => {
  for (const [fault, made] of [
    ['applied-cut', 1],
    ['cut', 1],
  ] as const) {
    const shop = await openShopAccount(t)
    await shop.pay(100)
    await shop.service.pollDue()
    await shop.spend(40)
    nextMonth(shop)
    shop.sandbox.faults.push(fault)
    await closeMonth(shop)
    shop.clock.aheadMs += 25 * 3_600_000
    await shop.service.pollDue()
    shop.clock.aheadMs += 3_600_000
    await shop.service.pollDue()
    t.equal(offsetsAtProvider(shop).length, made, fault)
  }
})

await t.test('a failed offset receipt raises an alarm and is created again every day', async t => {
  const shop = await openShopAccount(t)
  await shop.pay(100)
  await shop.service.pollDue()
  await shop.spend(40)
  nextMonth(shop)
  shop.sandbox.shop.temper.receipts = 'canceled'
  await closeMonth(shop)
  const failed = async () =>
    (await shop.service.rows.receipts(shop.accountId, 9)).find(({ kind }) => kind === 'offset')
  t.match(await failed(), { state: 'canceled', attempts: 1 })
  t.strictSame(shop.alarms, ['receipt_failed'])
  for (let day = 0; day < 20; day += 1) {
    shop.clock.aheadMs += 25 * 3_600_000
    await shop.service.pollDue()
  }
  t.match(await failed(), { state: 'canceled', attempts: 21 })

  shop.sandbox.shop.temper.receipts = 'succeeded'
  shop.clock.aheadMs += 25 * 3_600_000
  await shop.service.pollDue()

  t.match(await failed(), { state: 'succeeded', next_poll_at: null })
})
