import t from 'tap'
import type { Test } from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { send } from '../fixtures/http-client.ts'
import { askTwo, startTwo } from '../fixtures/two-providers.ts'
import { workerPids } from '../fixtures/worker-pids.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const refusal = '{"error":{"message":"Incorrect API key","type":"x","code":"invalid_api_key"}}'

/** Runs a `gateway providers` command, and returns its output. */
async function providers(t: Test, configFile: string, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(['providers', ...words, '--config', configFile])
  t.equal(code, 0, stderr)
  return stdout
}

async function stateOf(t: Test, configFile: string, credential: string): Promise<unknown> {
  const lines = (await providers(t, configFile, 'list', '--json')).trim().split('\n')
  const all = lines.map(line => JSON.parse(line) as { credentials: readonly { name: string }[] })
  return all.flatMap(one => one.credentials).find(one => one.name === credential)
}

await t.test(
  'a paused credential receives no requests, and a paused provider refuses them with the reason',
  async t => {
    const { gateway, upstream, used } = await startWithCredentials(t, openai, ['one', 'two'], () => undefined)
    const { configFile } = gateway
    const [first, second] = ['openai#1', 'openai#2'] as const

    await providers(t, configFile, 'pause', 'openai', '--credential', first, '--reason', 'leaked')
    await until(async () => ((await stateOf(t, configFile, first)) as { isPaused: boolean }).isPaused)
    for (let count = 0; count < 5; count += 1) t.equal((await askAs(gateway, openai)).status, 200)
    t.same(new Set(used()), new Set(['two']))
    t.match(await stateOf(t, configFile, second), { isPaused: false, state: 'works' })

    await providers(t, configFile, 'pause', 'openai', '--reason', 'an incident')
    await until(async () => (await askAs(gateway, openai)).status === 502)
    const before = upstream.requests.length
    const refused = await askAs(gateway, openai)
    t.equal(refused.status, 502)
    t.match(refused.body.toString(), 'is paused by the gateway')
    t.equal(upstream.requests.length, before, 'nothing is sent')

    await providers(t, configFile, 'resume', 'openai', '--reason', 'it is over')
    await until(async () => (await askAs(gateway, openai)).status === 200)
    t.match(
      await stateOf(t, configFile, first),
      { isPaused: false },
      'resuming a provider resumes its credentials',
    )
    const log = await runHere(['operator', 'log', '--config', configFile])
    t.match(log.stdout, /pause-provider +openai: an incident/)
    t.match(log.stdout, /pause-provider +openai#1: leaked/)
    await checkMoney(t, gateway)
  },
)

await t.test('requests for a paused provider go to the next one of their model', async t => {
  const served = () => plainAnswer(200, json, openai.document)
  const [first, second] = [await startRawUpstream(t, served), await startRawUpstream(t, served)]
  const gateway = await startTwo(t, first.origin, second.origin)
  await providers(t, gateway.configFile, 'pause', 'first', '--reason', 'r')
  await until(async () => {
    await askTwo(gateway)
    return second.requests.length > 0
  })
  const before = first.requests.length

  t.equal((await askTwo(gateway)).status, 200)

  t.equal(first.requests.length, before)
  await checkMoney(t, gateway)
})

await t.test('a refused credential receives the next request after the command try', async t => {
  let isGood = false
  const { gateway, upstream } = await startWithCredentials(t, openai, ['only'], () =>
    isGood ? undefined : plainAnswer(401, json, refusal),
  )
  const { configFile } = gateway
  t.equal((await askAs(gateway, openai)).status, 502)
  t.match(await stateOf(t, configFile, 'openai#1'), { state: 'refused', restMs: Number })
  isGood = true
  t.equal((await askAs(gateway, openai)).status, 502, 'the credential rests')
  t.equal(upstream.requests.length, 1)

  await providers(t, configFile, 'try', 'openai', '--reason', 'the bill is paid')
  await until(async () => (await askAs(gateway, openai)).status === 200)

  t.match(await stateOf(t, configFile, 'openai#1'), { state: 'works', restMs: 0, requests: 0 })
  await checkMoney(t, gateway)
})

await t.test('an invalid switch is refused, and changes nothing', async t => {
  const { gateway } = await startWithCredentials(t, openai, ['only'], () => undefined)
  for (const [words, message] of [
    [['pause', 'nobody', '--reason', 'r'], 'has no provider "nobody"'],
    [['pause', 'openai', '--credential', 'openai#7', '--reason', 'r'], 'has no credential "openai#7"'],
    [['pause', 'openai', '--credential', 'only', '--reason', 'r'], 'has no credential "only"'],
    [['pause', 'openai', '--reason', ' '], 'takes 1 to 1000 characters'],
    [['pause', 'openai'], '--reason'],
  ] as const) {
    const { code, stderr } = await runHere(['providers', ...words, '--config', gateway.configFile])
    t.not(code, 0)
    t.match(stderr, message)
  }
  t.match((await runHere(['operator', 'log', '--config', gateway.configFile])).stdout, 'nothing was done')
  t.notMatch(await providers(t, gateway.configFile, 'list'), 'only', 'no secret is shown')
})

await t.test('all workers pause, a restarted one too, and running streams complete', async t => {
  const pieces = chunked(openai.events.map(event => Buffer.from(event)))
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...pieces.slice(0, 2),
          ],
        }
      : plainAnswer(200, json, openai.document),
  )
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin, {}, { workers: 2 }) })
  const ask = () =>
    send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: openai.body(false),
    })
  const body = openai.body(true)
  const client = await connectRaw(t, gateway.url)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  await client.waitFor('upon a time')

  await providers(t, gateway.configFile, 'pause', 'openai', '--reason', 'r')

  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, ask))
    return answers.every(({ status }) => status === 502)
  }, 20_000)
  t.match(await stateOf(t, gateway.configFile, 'openai#1'), {
    isPaused: true,
    processes: 2,
    affected: 0,
    requests: 1,
  })
  for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
  await client.waitFor('0\r\n\r\n')

  const before = workerPids(gateway.written())
  const pid = before.get(1) ?? 0
  process.kill(pid, 'SIGKILL')
  await until(() => workerPids(gateway.written()).get(1) !== pid)
  const answers = await Promise.all(Array.from({ length: 8 }, ask))
  t.ok(answers.every(({ status }) => status === 502))
  t.same(await gateway.breaches(), [])
})
