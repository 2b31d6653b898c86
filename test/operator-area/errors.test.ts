import t from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import { readErrorCounts } from '../../lib/stores/records/error-count-table.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { freePort } from '../fixtures/free-port.ts'
import { startOperatorArea } from '../fixtures/operator-area.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

/** Sends a request; returns the status. */
async function ask(url: string, key: string, model: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  return answer.status
}

await t.test('Today lists the errors of the day by code', async t => {
  const area = await startOperatorArea(t, {
    models: { 'sandbox-*': { provider: 'sandbox', rubPerMillion: { input: '1000', output: '1000' } } },
  })
  const { email } = await area.signUp()
  const accountId = await area.accountOf(email)
  const { key } = await area.test.accounts.createKey({ accountId })
  const desk = await area.operator('support')
  t.match((await desk.get('/')).text, 'Ошибок нет')

  t.equal(await ask(area.test.url, key, 'sandbox-chat'), 402)
  await area.test.accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'r' })
  t.equal(await ask(area.test.url, key, 'sandbox-chat'), 200)
  t.equal(await ask(area.test.url, key, 'sandbox-error'), 429)
  for (let count = 0; count < 3; count += 1) t.equal(await ask(area.test.url, 'gw-none', 'sandbox-chat'), 401)

  const shown = async () => {
    const { text } = await desk.get('/')
    return [...text.matchAll(/<td[^>]*><code>([a-z_0-9]+)<\/code><\/td>\s*<td[^>]*>(\d+)<\/td>/g)].map(
      ([, code, count]) => `${code} ${count}`,
    )
  }
  await until(async () => (await shown()).length === 3)
  t.same(await shown(), ['key_invalid 3', 'balance_insufficient 1', 'provider_429 1'])
})

await t.test('the errors of all workers are stored when the gateway ends', async t => {
  const gateway = await serveProcess(t, {
    config: callConfig(
      'http://127.0.0.1:1',
      {},
      { workers: 2, operatorArea: { listen: { host: '127.0.0.1', port: await freePort() } } },
    ),
  })
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz`)).status === 200)
  await Promise.all(Array.from({ length: 8 }, () => ask(gateway.url, 'gw-none', 'chat')))

  gateway.child.kill('SIGTERM')
  await gateway.exited

  const file = gateway.configFile.replace('gateway.yaml', 'data/gateway.db')
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock })
  t.teardown(() => store.close())
  t.same(await readErrorCounts(await store.records(), 0), [{ code: 'key_invalid', count: 8 }])
})
