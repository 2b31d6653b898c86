import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call } from '../fixtures/job-kinds.ts'
import { startJobProvider } from '../fixtures/job-provider.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }

async function read(gateway: TestGateway): Promise<string> {
  const answer = await fetch(`${gateway.gateway.adminUrl}/metrics`)
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  return await answer.text()
}

/** The value of a series; 0 when there is none. */
function value(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const line = text
    .split('\n')
    .find(
      one =>
        (one.startsWith(`gateway_${name}{`) || one.startsWith(`gateway_${name} `)) &&
        Object.entries(labels).every(([label, text]) => one.includes(`${label}="${text}"`)),
    )
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1))
}

await t.test('the metrics count requests, outcomes, usage and cost', async t => {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...chunked(openai.events.map(event => Buffer.from(event))),
          ],
        }
      : plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
  const ask = (path: string, key: string, body: string) =>
    send(gateway.url + path, { headers: openai.keyHeader(key), body })
  await ask(openai.path(false), gateway.key, openai.body(false))
  await ask(openai.path(true), gateway.key, openai.body(true))
  await ask('/v1/chat/completions', 'gw-unknown', openai.body(false))
  await ask('/v1/nothing-of-ours', gateway.key, '{}')
  upstream.answer = () =>
    plainAnswer(429, ['content-type', 'application/json'], '{"error":{"message":"slow"}}')
  await ask(openai.path(false), gateway.key, openai.body(false))
  upstream.answer = () => ({ pieces: [], then: 'reset' })
  await ask(openai.path(false), gateway.key, openai.body(false))
  await settled(gateway, 6)

  const text = await read(gateway)

  const chat = { dialect: 'openai', operation: 'chat' }
  t.equal(value(text, 'exchanges_total', { ...chat, outcome: 'completed', status: '200' }), 2)
  t.equal(value(text, 'exchanges_total', { ...chat, outcome: 'completed', status: '429' }), 1)
  t.equal(value(text, 'exchanges_total', { ...chat, outcome: 'refused', status: '401' }), 1)
  t.equal(value(text, 'exchanges_total', { dialect: 'none', operation: 'none', status: '404' }), 1)
  t.equal(value(text, 'refusals_total', { code: 'key_invalid' }), 1)
  t.equal(value(text, 'refusals_total', { code: 'route_not_found' }), 1)
  t.equal(value(text, 'exchange_duration_seconds_count', chat), 5)
  t.equal(value(text, 'first_byte_seconds_count', { provider: 'openai' }), 3)
  t.equal(value(text, 'upstream_attempts_total', { provider: 'openai', result: '200' }), 2)
  t.equal(value(text, 'upstream_attempts_total', { provider: 'openai', result: '429' }), 1)
  t.equal(value(text, 'upstream_attempts_total', { provider: 'openai', result: 'upstream_failed' }), 1)
  t.equal(value(text, 'units_total', { provider: 'openai', model: '*', meter: 'input' }), 24)
  t.equal(value(text, 'units_total', { provider: 'openai', model: '*', meter: 'output' }), 68)
  const charges = await gateway.charges()
  const paid = charges.reduce((sum, charge) => sum + Number(charge.amount), 0)
  t.ok(
    Math.abs(value(text, 'charged_roubles_total', { provider: 'openai' }) - paid) < 1e-9,
    `${paid} roubles`,
  )
  t.equal(value(text, 'charges_total', { source: 'provider' }), 4, 'a refusal by the provider is one too')
  t.equal(value(text, 'alarms_total', { code: 'ambiguous', provider: 'openai' }), 1)
  for (const gauge of ['open_exchanges', 'writes_waiting', 'overload_level', 'log_lines_dropped_total'])
    t.match(text, new RegExp(`^gateway_${gauge} 0$`, 'm'))
  t.match(text, /^gateway_event_loop_delay_seconds [\d.e-]+$/m)
  t.match(text, /^gateway_shed_requests_total\{class="unknown"\} 0$/m)
  t.match(text, /^process_resident_memory_bytes \d+/m)
  await checkMoney(t, gateway)
})

await t.test('text of clients creates no series, and no series has a secret', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
  const seriesOf = (text: string): number =>
    text.split('\n').filter(line => line.startsWith('gateway_')).length
  const ask = async (n: number): Promise<void> => {
    await send(`${gateway.url}/v1/chat/completions?q=canary-${n}`, {
      headers: [...openai.keyHeader(gateway.key), 'x-canary', `canary-${n}`],
      body: openai.body(false).replace('test-model', `canary-${n}`),
    })
    await send(`${gateway.url}/canary-${n}/v1/canary`, {
      headers: openai.keyHeader(`gw-canary-${n}`),
      body: '{}',
    })
  }
  await ask(0)
  await until(() => gateway.logLines.filter(line => line.includes('"msg":"exchange"')).length === 2)
  const before = seriesOf(await read(gateway))

  for (let n = 1; n <= 20; n += 1) await ask(n)
  await settled(gateway, 42)

  const text = await read(gateway)
  t.equal(seriesOf(text), before)
  t.notMatch(text, /canary/)
  t.notOk(text.includes(gateway.key) || text.includes(gateway.keyId) || text.includes(gateway.accountId))
})

await t.test(
  'the cost of a job is counted under the pattern of its model, not under the requested name',
  async t => {
    const provider = await startJobProvider(t)
    const config = jobConfig(provider.origin, 600_000)
    const models = { 'sora-*': { provider: 'openai', rubPerUnit: { videoSeconds: '10' } } }
    const gateway = await startTestGateway(t, { config: { ...config, models, admin } })
    const own = { url: gateway.url, key: gateway.key }
    const made = await call(own, 'POST', '/v1/videos', { model: 'sora-canary', prompt: 'x', seconds: '4' })
    t.equal(made.status, 200)
    const { id } = JSON.parse(made.body.toString()) as { id: string }
    provider.end(id, 'done')
    await call(own, 'GET', `/v1/videos/${id}`)
    t.match(await gateway.charges(), [{ amount: '40.000000', model: 'sora-canary' }])

    const text = await read(gateway)
    t.equal(value(text, 'charged_roubles_total', { model: 'sora-*' }), 40)
    t.notMatch(text, /canary/)
  },
)
