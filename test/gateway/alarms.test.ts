import t from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const refused = plainAnswer(401, json, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
const secret = 'sk-canary-0123456789'

interface AlarmView {
  readonly id: string
  readonly alarm: string
  readonly subject: string
  readonly state: string
}

async function alarmsOf(configFile: string, ...words: string[]): Promise<readonly AlarmView[]> {
  const { code, stdout, stderr } = await runHere(['alarms', '--json', ...words, '--config', configFile])
  if (code !== 0) throw new Error(stderr)
  const lines = stdout.split('\n').filter(line => line !== '')
  return lines.map(line => JSON.parse(line) as AlarmView)
}

await t.test('commands list, take and close an alarm while the gateway runs', async t => {
  const { gateway } = await startWithCredentials(t, openai, [{ name: 'main', value: secret }], () => refused)
  const { configFile } = gateway
  const run = (...words: string[]) => runHere(['alarms', ...words, '--config', configFile])
  t.match(await run(), { code: 0, stdout: 'no alarms\n' })

  await askAs(gateway, openai)
  await until(async () => (await alarmsOf(configFile)).length === 1)
  const [alarm] = await alarmsOf(configFile)
  const id = alarm?.id ?? ''

  t.match(alarm, {
    alarm: 'credential_suspended',
    subject: 'openai#main',
    says: 'a provider refuses our key or its billing',
    state: 'open',
    count: 1,
    details: { provider: 'openai', credentialName: 'openai#main' },
  })
  t.notMatch(JSON.stringify(alarm), secret)
  t.match((await run()).stdout, /credential_suspended +openai#main +open +1 /)
  t.match(await run('take', id), { code: 0, stdout: `alarm ${id} is yours\n` })
  t.match(await run('take', id), {
    code: 1,
    stderr: `gateway: the alarm ${id} is taken already: gateway alarms --all lists them\n`,
  })
  t.match(await run('close', id), { code: 2, stderr: /--reason/ })
  t.match(await run('close', id, '--reason', 'a new key'), { code: 0 })
  t.match(await run(), { stdout: 'no alarms\n' })
  t.match(await run('close', 'none', '--reason', 'x'), {
    code: 1,
    stderr: 'gateway: there is no alarm none: gateway alarms --all lists them\n',
  })
  t.match(await alarmsOf(configFile, '--all'), [{ state: 'closed', reason: 'a new key' }])
})

await t.test(
  'an alarm that two workers raise is stored once, by the process that owns the store',
  async t => {
    const upstream = await startRawUpstream(t, () => refused)
    const credentials = [{ name: 'main', value: secret }]
    const gateway = await serveProcess(t, {
      config: callConfig(upstream.origin, { credentials }, { workers: 2 }),
    })
    const ask = () =>
      send(`${gateway.url}/v1/chat/completions`, {
        headers: openai.keyHeader(gateway.key),
        body: openai.body(false),
      })

    // Each worker detects the refusal on its own; connections alternate between the workers.
    await Promise.all(Array.from({ length: 6 }, ask))
    await until(async () => (await alarmsOf(gateway.configFile)).length === 1)

    t.match(await alarmsOf(gateway.configFile), [{ subject: 'openai#main', state: 'open' }])
  },
)
