import type { Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { moscowDay } from '../../lib/ledger/moscow-days.ts'
import { systemClock } from '../../lib/platform/clock.ts'
import { startPaymentSandbox } from '../../lib/sandbox/payments/payment-sandbox.ts'
import { plugins } from '../../plugins/index.ts'
import { runHere } from '../cli/run-gateway.ts'
import { startCentralBank } from '../fixtures/central-bank.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'

/** A healthy gateway, with its customers' requests and its operator's actions. */
export interface HealthyGateway {
  readonly test: TestGateway
  /** One second of every customer: whole and streamed responses, one that its client leaves early, and mistakes. */
  second(): Promise<readonly (number | undefined)[]>
  /** A customer pays, and the operator reloads the configuration and reconciles the payments. */
  business(): Promise<void>
}

const chat = { model: 'sandbox-chat', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
const limits = { 'rate-limit': { requestsPerMinute: 100_000, concurrentRequests: 100 } }
const price = { provider: 'sandbox', rubPerMillion: { input: '1', output: '2' } }

export async function startHealthy(t: Test): Promise<HealthyGateway> {
  const bank = await startCentralBank(t, { [moscowDay(Date.now())]: '90,0000' })
  const shop = await startPaymentSandbox({ clock: systemClock })
  t.teardown(() => shop.close())
  const listen = { host: '127.0.0.1', port: 0 }
  const yookassa = { shopId: 'sandbox', secretKey: 'test_sandbox', baseUrl: `${shop.origin}/v3` }
  const test = await startTestGateway(t, {
    config: {
      providers: { sandbox: {} },
      models: {
        'sandbox-chat': price,
        'sandbox-embedding': { provider: 'sandbox', rubPerMillion: { input: '1' } },
      },
      plugins: ['auth', 'model-router', 'size-limit', limits, 'upstream-proxy', 'usage-tap'],
      prices: { usdRub: { from: 'cbr', marginPercent: 2, changePercentMax: 5, url: bank.url } },
      payments: { provider: 'yookassa', yookassa },
      admin: { listen },
      accountArea: { listen },
      operatorArea: { listen },
    },
    rub: 100_000,
  })
  const run = (...words: string[]) => runHere([...words, '--config', test.configFile])
  const post = async (path: string, body: object, key = test.key): Promise<number | undefined> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${test.url}${path}`, init)
    await response.text()
    return response.status
  }
  const leaveEarly = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${test.key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ ...chat, stream: true })
    const response = await fetch(`${test.url}/v1/chat/completions`, { method: 'POST', headers, body })
    await response.body?.cancel()
    return response.status
  }
  return {
    test,
    second: () =>
      Promise.all([
        ...Array.from({ length: 3 }, () => post('/v1/chat/completions', chat)),
        post('/v1/chat/completions', { ...chat, stream: true, stream_options: { include_usage: true } }),
        post('/v1/chat/completions', { ...chat, stream: true }),
        post('/v1/embeddings', { model: 'sandbox-embedding', input: 'Hello' }),
        leaveEarly(),
        post('/v1/chat/completions', { ...chat, model: 'no-such-model' }),
        post('/v1/chat/completions', { ...chat, messages: 'Hello' }),
        post('/v1/chat/completions', chat, 'gw-nobody'),
      ]),
    async business() {
      await run('payment', 'create', '--account', test.accountId, '--rub', '500')
      for (const [id, payment] of shop.shop.payments)
        shop.shop.payments.set(id, { ...payment, status: 'succeeded' })
      await run('payment', 'reconcile')
      await test.gateway.reload(loadConfig(test.configFile, { env: {}, plugins }).config)
    },
  }
}
