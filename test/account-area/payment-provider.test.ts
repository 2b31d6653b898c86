import t from 'tap'
import type { Test } from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import type { TestAccountArea } from '../fixtures/account-area.ts'
import { atShop, makePayment, pageThatSays, topUp } from '../fixtures/account-payment.ts'
import { openSandbox } from '../fixtures/payment-shop.ts'
import type { PaymentSandbox } from '../../lib/sandbox/payments/payment-sandbox.ts'

const notifications = '/payments/yookassa/notifications'
const secretKey = 'test_secret_of_the_shop'

/** An account area whose customers pay at a shop of the test. */
async function openArea(
  t: Test,
  config: Record<string, unknown> = {},
): Promise<{ area: TestAccountArea; sandbox: PaymentSandbox; metrics(): Promise<string> }> {
  const sandbox = await openSandbox(t)
  const yookassa = { shopId: '100500', secretKey, baseUrl: `${sandbox.origin}/v3` }
  const area = await startAccountArea(t, {
    payments: { provider: 'yookassa', yookassa, receipts: { vatCode: 1 } },
    admin: { listen: { host: '127.0.0.1', port: 0 } },
    ...config,
  })
  sandbox.notifyTo(`${area.url}${notifications}`)
  const metrics = async () => (await fetch(`${area.test.gateway.adminUrl}/metrics`)).text()
  return { area, sandbox, metrics }
}

await t.test(
  'customers see that the provider is down, and all payments are settled when it is up again',
  async t => {
    const { area, sandbox } = await openArea(t)
    const { browser } = await area.signUp()
    const { path: paidPath, shopUrl } = await makePayment(browser)
    sandbox.isDown = true
    await atShop(shopUrl, { pay: 'bank_card' })

    const { location } = await browser.post(
      '/balance/top-up',
      { ...topUp, method: 'sbp' },
      { from: '/balance' },
    )
    const path = location.split('?')[0] ?? ''
    await pageThatSays(browser, path, 'Платёжная система не отвечает')
    t.match((await browser.get(path)).text, 'Деньги не списаны')
    t.match((await browser.get('/balance')).text, 'Платёжная система сейчас не отвечает')
    t.match((await browser.get('/balance')).text, 'Незавершённые платежи')
    t.match((await browser.get(paidPath)).text, 'Ждём оплату')
    sandbox.isDown = false

    await pageThatSays(browser, paidPath, 'Оплачено')
    const text = await pageThatSays(browser, path, '/pay/')
    t.match(text, 'Открыть приложение банка')
    t.notMatch((await browser.get('/balance')).text, 'сейчас не отвечает')
    t.equal(sandbox.shop.payments.size, 2, 'each payment was made once')
    t.strictSame(await area.test.breaches(), [])
  },
)

await t.test('a page does not wait for a provider that does not respond', async t => {
  const { area, sandbox } = await openArea(t)
  const { browser } = await area.signUp()
  sandbox.faults.push('hang')
  const begun = Date.now()

  const { status, location } = await browser.post('/balance/top-up', topUp, { from: '/balance' })

  t.equal(status, 303)
  t.ok(Date.now() - begun < 12_000)
  await pageThatSays(browser, location, '/pay/')
  t.equal(sandbox.shop.payments.size, 1)
})

await t.test('a payment that expires is shown as such, and a return by its link credits nothing', async t => {
  const { area, sandbox } = await openArea(t)
  const { browser } = await area.signUp()
  const { path } = await makePayment(browser)
  sandbox.shop.aheadMs = 2 * 3_600_000

  const text = await pageThatSays(browser, path, 'Оплата не прошла')

  t.match(text, 'Время на оплату вышло')
  t.match((await browser.get(`${path}?go=1`)).text, 'Время на оплату вышло')
  t.match((await browser.get('/balance')).text, 'Здесь будут пополнения')
})

await t.test(
  "notifications are accepted only from the provider's addresses, as trusted proxies report them",
  async t => {
    const { area, sandbox } = await openArea(t, { trustedProxies: ['127.0.0.1'] })
    const { browser } = await area.signUp()
    const { path, shopUrl } = await makePayment(browser)
    sandbox.notifyTo(undefined)
    await atShop(shopUrl, { pay: 'bank_card' })
    const [paid] = [...sandbox.shop.payments.keys()]
    const send = async (from: string): Promise<number> => {
      const body = JSON.stringify({ event: 'payment.succeeded', object: { id: paid } })
      const headers = { 'x-forwarded-for': from }
      return (await fetch(`${area.url}${notifications}`, { method: 'POST', headers, body })).status
    }

    t.equal(await send('203.0.113.9'), 403)
    t.equal(await send('185.71.76.9'), 200)

    t.match((await browser.get(path)).text, 'Оплачено')
    t.match(area.test.logLines.join(''), 'came from an address that is not the provider')
  },
)

await t.test('a flood of notifications about nothing does not become a flood of requests', async t => {
  const { area, sandbox } = await openArea(t)
  const { browser } = await area.signUp()
  const { path, shopUrl } = await makePayment(browser)
  sandbox.notifyTo(undefined)
  await atShop(shopUrl, { pay: 'bank_card' })
  const [own] = [...sandbox.shop.payments.keys()]
  const send = async (id: string): Promise<number> => {
    const body = JSON.stringify({ event: 'payment.succeeded', object: { id } })
    return (await fetch(`${area.url}${notifications}`, { method: 'POST', body })).status
  }
  const statuses: number[] = []
  for (let sent = 0; sent < 200; sent += 1) statuses.push(await send(`forged-${sent}`))

  const accepted = statuses.filter(status => status === 200).length
  t.ok(accepted <= 120, `${accepted} were accepted`)
  t.equal(statuses.filter(status => status === 429).length, 200 - accepted)
  t.equal(await send(own ?? ''), 200, 'a notification of an own payment is never refused')
  t.match((await browser.get(path)).text, 'Оплачено')
})

await t.test('no log line has a secret, whatever fails', async t => {
  const { area, sandbox } = await openArea(t)
  const { browser } = await area.signUp()
  for (const fault of ['500', '429', 'cut', 'applied-cut'] as const) {
    sandbox.faults.push(fault, fault, fault)
    await makePayment(browser)
  }
  const log = area.test.logLines.join('')

  t.match(log, 'how a payment stands could not be found out')
  t.notMatch(log, secretKey)
  t.notMatch(log, Buffer.from(`100500:${secretKey}`).toString('base64'))
})

await t.test('a customer cannot create payments at the provider without limit', async t => {
  const { area } = await openArea(t)
  const { browser } = await area.signUp()
  const statuses: number[] = []
  for (let made = 0; made < 32; made += 1)
    statuses.push((await browser.post('/balance/top-up', topUp, { from: '/balance' })).status)

  t.strictSame(
    statuses.slice(0, 30),
    Array.from({ length: 30 }, () => 303),
  )
  t.strictSame(statuses.slice(30), [422, 422])
})
