import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }
const json = ['content-type', 'application/json']
const secret = 'sk-canary-0123456789'
const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

async function read(gateway: TestGateway): Promise<string> {
  return await (await fetch(`${gateway.gateway.adminUrl}/metrics`)).text()
}

function ask({ url, key }: TestGateway) {
  return send(url + openai.path(false), { headers: openai.keyHeader(key), body: openai.body(false) })
}

await t.test('the metrics show a refused credential by its name until it works again', async t => {
  let offsetMs = 0
  const now = performance.now.bind(performance)
  performance.now = () => now() + offsetMs
  t.teardown(() => (performance.now = now))
  let isGood = true
  const upstream = await startRawUpstream(t, () =>
    isGood
      ? plainAnswer(200, json, openai.document)
      : plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'),
  )
  const credentials = [{ name: 'main', value: secret }]
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { credentials }, { admin }),
  })
  const labels = 'provider="openai",credential="openai#main"'
  const states = async () => {
    const text = await read(gateway)
    t.notMatch(text, secret)
    const found = [
      ...text.matchAll(/^gateway_credential_state\{.*credential="openai#main",state="(\w+)"\} (\d)$/gm),
    ]
    return Object.fromEntries(found.map(([, state, value]) => [state, Number(value)]))
  }

  t.same(await states(), { ready: 1, resting: 0, suspended: 0, paused: 0 }, 'an unused credential is ready')
  const before = await read(gateway)
  t.match(before, /^gateway_provider_up\{provider="openai"\} 1$/m)
  t.match(before, `gateway_alarms_total{code="credential_suspended",${labels}} 0\n`)
  t.match(before, 'gateway_alarms_total{code="egress_down",provider="openai",egress="direct"} 0\n')
  t.match(before, 'gateway_alarms_total{code="usage_missing",provider="openai"} 0\n')

  isGood = false
  await ask(gateway)
  t.same(await states(), { ready: 0, resting: 0, suspended: 1, paused: 0 })
  const refused = await read(gateway)
  t.match(refused, /^gateway_provider_up\{provider="openai"\} 0$/m)
  t.match(refused, /^gateway_egress_up\{provider="openai",egress="direct"\} 1$/m)
  t.match(refused, `gateway_alarms_total{code="credential_suspended",${labels}} 1\n`)

  offsetMs += 300_000
  t.equal((await states())['suspended'], 1, 'it was not tried again')
  isGood = true
  t.equal((await ask(gateway)).status, 200)
  t.same(await states(), { ready: 1, resting: 0, suspended: 0, paused: 0 })
  t.match(await read(gateway), `gateway_alarms_total{code="credential_restored",${labels}} 1\n`)
})

await t.test('an unreachable provider is down with its egress route', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, json, openai.document))
  const gateway = await startTestGateway(t, { config: callConfig('http://127.0.0.1:9', {}, { admin }) })

  for (let count = 0; count < 5; count += 1) await ask(gateway)

  const text = await read(gateway)
  t.match(text, /^gateway_provider_up\{provider="openai"\} 0$/m)
  t.match(text, /^gateway_egress_up\{provider="openai",egress="direct"\} 0$/m)
  t.match(text, /^gateway_credential_state\{.*state="resting"\} 1$/m)
  t.equal(upstream.requests.length, 0)
})

await t.test('a paused provider is down, and a provider without a credential has no metrics', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, json, openai.document))
  const credentials = [{ name: 'main', value: secret }]
  const config = callConfig(upstream.origin, { credentials }, { admin })
  const unset = {
    credentials: ['${KEY_THAT_IS_NOT_SET}'],
    dialects: { openai: { baseUrl: 'https://un.set/v1' } },
  }
  const gateway = await startTestGateway(t, {
    config: { ...config, providers: { ...(config['providers'] as object), unset } },
  })
  const order = (word: string) =>
    runHere(['providers', word, 'openai', '--reason', 'r', '--config', gateway.configFile])
  const providersIn = (text: string) =>
    new Set([...text.matchAll(/provider="([\w-]+)"/g)].map(([, name]) => name))
  const before = await read(gateway)
  t.strictSame(providersIn(before), new Set(['openai', 'anthropic', 'google']))

  await order('pause')
  await until(async () => /^gateway_provider_up\{provider="openai"\} 0$/m.test(await read(gateway)))
  const paused = await read(gateway)
  t.match(paused, /^gateway_credential_state\{.*credential="openai#main",state="paused"\} 1$/m)
  t.match(paused, /^gateway_credential_state\{.*credential="openai#main",state="ready"\} 0$/m)
  t.match(paused, /^gateway_egress_up\{provider="openai",egress="direct"\} 1$/m)

  await order('resume')
  await until(async () => /^gateway_provider_up\{provider="openai"\} 1$/m.test(await read(gateway)))
  t.strictSame(providersIn(await read(gateway)), providersIn(before))
})

await t.test('the metrics have the result and the time of reloads', async t => {
  const gateway = await startTestGateway(t, { config: { admin, providers: { sandbox: {} } } })
  const value = async (name: string) =>
    Number(new RegExp(`^gateway_config_${name} (.+)$`, 'm').exec(await read(gateway))?.[1])

  t.equal(await value('last_reload_successful'), 1)
  const startedAt = await value('last_reload_success_timestamp_seconds')
  t.ok(Math.abs(startedAt - Date.now() / 1000) < 60)
  gateway.gateway.noteFailedReload()
  t.equal(await value('last_reload_successful'), 0)
  t.equal(await value('last_reload_success_timestamp_seconds'), startedAt)
})

await t.test('requests are counted by group of accounts', async t => {
  const gateway = await startTestGateway(t, {
    config: {
      admin: { ...admin, accountGroups: { wholesale: ['somebody'] } },
      providers: { sandbox: {} },
      models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } } },
    },
  })
  t.match(await read(gateway), 'gateway_account_requests_total{group="wholesale",outcome="completed"} 0\n')

  const answer = await send(`${gateway.url}/v1/chat/completions`, {
    headers: openai.keyHeader(gateway.key),
    body: '{"model":"sandbox-chat","messages":[{"role":"user","content":"Hi"}]}',
  })

  t.equal(answer.status, 200)
  const others = 'gateway_account_requests_total{group="others",outcome="completed"} 1\n'
  await until(async () => (await read(gateway)).includes(others))
})

await t.test(
  'failures of plugins are counted from 0, since a rule sees no rise in a series that begins at 1',
  async t => {
    const file = join(t.testdir(), 'broken.js')
    const hooks = "onResponse() { throw new Error('oops') }"
    writeFileSync(file, `export const broken = { name: 'broken', create() { return { ${hooks} } } }`)
    const upstream = await startRawUpstream(t, () => plainAnswer(200, json, openai.document))
    const plugins = ['auth', 'model-router', file, 'size-limit', 'upstream-proxy', 'usage-tap']
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin, plugins }) })
    const series = 'gateway_plugin_errors_total{plugin="broken",hook="onResponse"}'
    t.match(await read(gateway), `${series} 0\n`)

    t.equal((await ask(gateway)).status, 200)

    await until(async () => (await read(gateway)).includes(`${series} 1\n`))
  },
)

await t.test(
  'promtool accepts the names, types and help of the metrics',
  { skip: hasPromtool ? false : 'promtool is not here: apt-get install prometheus' },
  async t => {
    const gateway = await startTestGateway(t, {
      config: {
        admin,
        providers: { sandbox: {} },
        payments: { provider: 'sandbox' },
        accountArea: { listen: { host: '127.0.0.1', port: 0 } },
      },
    })

    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await read(gateway),
      encoding: 'utf8',
    })

    t.equal(status, 0, `${stdout}${stderr}`)
  },
)
