import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { openSandbox } from '../fixtures/payment-shop.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { runHere } from './run-gateway.ts'

const secretKey = 'live_very_secret'

/** A config with a shop at this address. */
function configWith(t: Test, baseUrl: string, key: string): string {
  const file = join(t.testdir(), 'gateway.yaml')
  const yookassa = { shopId: '100500', secretKey: key, baseUrl }
  writeFileSync(file, stringify({ providers: { sandbox: {} }, payments: { provider: 'yookassa', yookassa } }))
  return file
}

await t.test('check reports an invalid key of the shop, and never shows it', async t => {
  const { origin } = await openSandbox(t)
  const run = async (baseUrl: string, key: string, ...words: string[]) =>
    runHere(['check', '--config', configWith(t, baseUrl, key), ...words])

  const refused = await run(`${origin}/v3`, secretKey)
  t.equal(refused.code, 1)
  t.match(refused.stdout, /payments\.yookassa\.secretKey: is refused by 127\.0\.0\.1:\d+ for the shop 100500/)
  t.notMatch(refused.stdout + refused.stderr, secretKey)
  const json = await run(`${origin}/v3`, secretKey, '--json')
  t.match(JSON.parse(json.stdout), { ok: false, problems: [{ path: 'payments.yookassa.secretKey' }] })

  t.match(await run(`${origin}/v3`, 'test_right'), { code: 0, stdout: /is in order/ })
  const away = await run('http://127.0.0.1:9/v3', 'test_right')
  t.match(away, {
    code: 0,
    stdout: /payments: the shop's key was not checked: 127\.0\.0\.1:9 did not answer/,
  })
})

await t.test('a start reports it too, counts it as an alarm, and serves all the same', async t => {
  const { origin } = await openSandbox(t)
  const yookassa = { shopId: '100500', secretKey, baseUrl: `${origin}/v3` }
  const test = await startTestGateway(t, {
    config: {
      providers: { sandbox: {} },
      payments: { provider: 'yookassa', yookassa },
      admin: { listen: { host: '127.0.0.1', port: 0 } },
    },
  })
  const metrics = async (): Promise<string> => (await fetch(`${test.gateway.adminUrl}/metrics`)).text()

  await until(async () => (await metrics()).includes('gateway_alarms_total{code="provider_credentials"} 1'))

  const log = test.logLines.join('')
  t.match(log, /refuses the shop: check payments\.yookassa\.shopId and secretKey/)
  t.notMatch(log, secretKey)
  t.notMatch(log, Buffer.from(`100500:${secretKey}`).toString('base64'))
})

await t.test(
  'metrics report the number of payments by state, and the age of the oldest open one',
  async t => {
    const test = await startTestGateway(t, {
      config: {
        providers: { sandbox: {} },
        payments: { provider: 'sandbox', receipts: { vatCode: 1 } },
        admin: { listen: { host: '127.0.0.1', port: 0 } },
      },
    })
    const run = (...words: string[]) => runHere([...words, '--config', test.configFile])
    const create = async (): Promise<string> =>
      (await run('payment', 'create', '--account', test.accountId, '--rub', '500')).stdout.split('\n')[1] ??
      ''
    const metrics = async (): Promise<string> => (await fetch(`${test.gateway.adminUrl}/metrics`)).text()
    await create()
    const page = await create()
    await fetch(page, { method: 'POST', body: new URLSearchParams({ pay: 'sbp' }), redirect: 'manual' })
    await run('payment', 'reconcile')
    await until(async () => (await metrics()).includes('gateway_payment_receipts{state="succeeded"} 1'))

    const text = await metrics()

    t.match(text, 'gateway_payments{state="pending"} 1\n')
    t.match(text, 'gateway_payments{state="succeeded"} 1\n')
    t.match(text, 'gateway_payments{state="canceled"} 0\n')
    t.match(text, /gateway_payment_oldest_open_seconds \d/)
    t.match(text, 'gateway_payment_differences 0\n')
    t.match(text, 'gateway_payment_receipts{state="canceled"} 0\n')
    t.match(text, 'gateway_alarms_total{code="receipt_failed"} 0\n')
    t.match(text, 'gateway_exchanges_total', 'the metrics of requests are there too')
  },
)
