import { writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { listAlarms } from '../../lib/alarms/alarms.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { openRecordReader } from '../../lib/stores/open-store.ts'
import { plugins } from '../../plugins/index.ts'
import { runHere } from '../cli/run-gateway.ts'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'
import { formOf, formType } from '../fixtures/upload-ways.ts'
import { send } from '../fixtures/http-client.ts'

const env = { FIRST: 'sk-first', SECOND: 'sk-second' }
const chat = { model: 'gpt-5', messages: [{ role: 'user', content: 'hi' }] }
const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }

function json(status: number, body: object): RawAnswer {
  return plainAnswer(status, ['content-type', 'application/json'], JSON.stringify(body))
}

interface Places {
  readonly gateway: TestGateway
  /** `GET /v1/videos/video_1 sk-first`, in the order they came. */
  readonly seen: string[]
  /** Credentials that the provider refuses from now on. */
  readonly refused: Set<string>
  /** Applies a configuration with these credentials, in this order. */
  readonly reload: (credentials: readonly unknown[]) => Promise<void>
}

/** A provider each of whose credentials sees only what was made with it. */
async function startPlaces(t: Test, credentials: readonly unknown[]): Promise<Places> {
  const seen: string[] = []
  const refused = new Set<string>()
  const makers = new Map<string, string>()
  const provider = await startRawUpstream(t, ({ method, path, headers }) => {
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization')
    const credential = (headers[at + 1] ?? '').replace('Bearer ', '')
    seen.push(`${method} ${path} ${credential}`)
    if (refused.has(credential)) return json(401, { error: { code: 'invalid_api_key' } })
    if (path === '/v1/chat/completions') return json(200, { id: 'c-1', model: 'gpt-5', choices: [], usage })
    const id = path.includes('videos') ? 'video_1' : 'file-1'
    if (method === 'POST') makers.set(id, credential)
    else if (makers.get(id) !== credential) return json(404, { error: { message: 'no such thing' } })
    if (id === 'file-1') return json(200, { id, object: 'file', bytes: 3, filename: 'a.txt' })
    const status = method === 'POST' ? 'queued' : 'completed'
    return json(200, { id, object: 'video', model: 'sora-2', status, seconds: '4', size: '720x1280' })
  })
  const sections = (own: readonly unknown[]): ConfigSections => ({
    plugins: [
      'auth',
      'model-router',
      'size-limit',
      'upstream-proxy',
      { 'usage-tap': { pollMs: 300, pollMsMax: 300 } },
    ],
    providers: { openai: { credentials: own, dialects: { openai: { baseUrl: `${provider.origin}/v1` } } } },
    models: {
      'gpt-5': {
        provider: 'openai',
        outputTokensMax: 1000,
        rubPerMillion: { input: '1000', output: '1000' },
      },
      'sora-2': { provider: 'openai', rubPerUnit: { videoSeconds: '10' } },
    },
    defaultProvider: { openai: 'openai' },
  })
  const gateway = await startTestGateway(t, { config: sections(credentials), env })
  const { storeFile, configFile } = gateway
  return {
    gateway,
    seen,
    refused,
    async reload(own) {
      const next = { ...sections(own), store: `sqlite:${storeFile}`, listen: { port: 0 } }
      writeFileSync(configFile, stringify(next))
      await gateway.gateway.reload(loadConfig(configFile, { env: { ...env, NEW: 'sk-new' }, plugins }).config)
    },
  }
}

async function ask({ gateway }: Places): Promise<number> {
  return (await call(gateway, 'POST', '/v1/chat/completions', chat)).status
}

async function alarmsOf({ gateway }: Places): Promise<readonly string[]> {
  const reader = await openRecordReader({ kind: 'sqlite', file: gateway.storeFile })
  try {
    const rows = await listAlarms(reader, { limit: 10, isAll: true })
    return rows.map(({ kind, subject, state }) => [kind, subject, state].join(' '))
  } finally {
    await reader.close()
  }
}

await t.test('a job and a file stay with their credential when another is put before it', async t => {
  const places = await startPlaces(t, ['${FIRST}'])
  const { gateway, seen, reload } = places
  const upload = await send(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', formType],
    body: formOf(3),
  })
  t.equal(upload.status, 200)
  const video = await call(gateway, 'POST', '/v1/videos', {
    model: 'sora-2',
    prompt: 'A calm sea',
    seconds: '4',
  })
  t.equal(video.status, 200)

  await reload(['${NEW}', '${FIRST}'])

  t.equal((await call(gateway, 'GET', '/v1/files/file-1')).status, 200)
  await until(async () => (await gateway.charges()).length > 0)
  t.same(
    (await gateway.charges()).map(({ amount }) => Number(amount)),
    [40],
  )
  t.same(
    seen
      .filter(line => line.includes('_1') || line.includes('-1'))
      .filter(line => !line.endsWith('sk-first')),
    [],
    'no other credential is asked',
  )
  t.match(await gateway.balance(), { balanceMicros: 960_000_000, heldMicros: 0 })
  t.same(await gateway.breaches(), [])
})

await t.test('a file recorded with the number of a credential is found at that place', async t => {
  const places = await startPlaces(t, ['${FIRST}', '${SECOND}'])
  const { gateway, seen } = places
  const database = new Database(gateway.storeFile)
  database
    .prepare(
      `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, created_at)
       VALUES ('openai', 'file', 'file-1', ?, 'openai#2', 'x', 0)`,
    )
    .run(gateway.accountId)
  database.close()

  await call(gateway, 'GET', '/v1/files/file-1')

  t.same(seen, ['GET /v1/files/file-1 sk-second'])
})

await t.test('a pause stays with its credential when the order changes', async t => {
  const places = await startPlaces(t, ['${FIRST}', '${SECOND}'])
  const { gateway, seen, reload } = places
  const { configFile } = gateway
  const change = (words: readonly string[]) =>
    runHere(['providers', ...words, '--reason', 'leaked', '--config', configFile])
  const paused = await change(['pause', 'openai', '--credential', 'openai#FIRST'])
  t.equal(paused.code, 0, paused.stderr)

  await reload(['${SECOND}', '${FIRST}'])
  for (let count = 0; count < 4; count += 1) t.equal(await ask(places), 200)
  t.same(new Set(seen), new Set(['POST /v1/chat/completions sk-second']))

  const database = new Database(gateway.storeFile)
  database.exec(`INSERT INTO provider_switches VALUES ('openai', 'openai#1', 1, 0)`)
  database.close()
  await change(['try', 'openai'])
  t.equal(await ask(places), 502, 'a pause by the number holds for the credential at that place')
  const resumed = await change(['resume', 'openai', '--credential', 'openai#SECOND'])
  t.equal(resumed.code, 0, resumed.stderr)
  t.equal(await ask(places), 200, 'until that credential is resumed by its name')
  t.same(await gateway.breaches(), [])
})

await t.test('an alarm ends when its own credential works, wherever it is in the list', async t => {
  const places = await startPlaces(t, ['${FIRST}'])
  const { refused, reload } = places
  const said = 'credential_suspended openai#'
  refused.add('sk-first')
  t.equal(await ask(places), 502)
  await until(async () => (await alarmsOf(places)).length > 0)

  await reload(['${NEW}', '${FIRST}'])
  refused.add('sk-new')
  await ask(places)
  await until(async () => (await alarmsOf(places)).includes(`${said}NEW open`))
  refused.delete('sk-new')
  await reload(['${NEW}'])
  t.equal(await ask(places), 200)
  await until(async () => (await alarmsOf(places)).includes(`${said}NEW closed`))
  t.ok((await alarmsOf(places)).includes(`${said}FIRST open`), (await alarmsOf(places)).join(', '))
})
