import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { plugins } from '../../plugins/index.ts'
import { runHere } from '../cli/run-gateway.ts'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream, type RawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { startTlsUpstream, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const pollMs = 50

trustTestAuthority()

async function reload({ gateway, configFile }: TestGateway, change: (text: string) => string): Promise<void> {
  writeFileSync(configFile, change(readFileSync(configFile, 'utf8')))
  await gateway.reload(loadConfig(configFile, { env: {}, plugins }).config)
}

function alarmsIn({ logLines }: TestGateway): readonly string[] {
  return logLines.filter(line => line.includes('"alarm":'))
}

interface Videos {
  readonly gateway: TestGateway
  readonly provider: RawUpstream
  /** Credentials of the requests from this number on. */
  readonly usedSince: (count: number) => readonly string[]
  /** Answers the chats that wait. */
  readonly answer: () => void
  /** Ends the video. */
  readonly end: () => void
}

/** A provider that answers chats when it is told to, and whose video is polled often. */
async function startVideos(t: Test): Promise<Videos> {
  const held = Promise.withResolvers<void>()
  let status = 'queued'
  const provider = await startRawUpstream(t, async ({ path }) => {
    if (path === '/v1/chat/completions') await held.promise
    const video = { id: 'video_1', object: 'video', model: 'sora-2', status, seconds: '4', size: '720x1280' }
    return plainAnswer(200, json, path.includes('videos') ? JSON.stringify(video) : openai.document)
  })
  const usageTap = { 'usage-tap': { pollMs, pollMsMax: pollMs } }
  const gateway = await startTestGateway(t, {
    config: {
      plugins: ['auth', 'model-router', 'size-limit', 'upstream-proxy', usageTap],
      providers: {
        openai: {
          credentials: [{ value: 'sk-old', name: 'main' }],
          dialects: { openai: { baseUrl: `${provider.origin}/v1` } },
        },
      },
      models: {
        'test-model': { provider: 'openai', rubPerMillion: { input: '1000', output: '1000' } },
        'sora-2': { provider: 'openai', rubPerUnit: { videoSeconds: '10' } },
      },
      defaultProvider: { openai: 'openai' },
    },
  })
  const usedSince = (count: number): readonly string[] =>
    provider.requests.slice(count).map(({ raw }) => /sk-\w+/.exec(raw.toString('latin1'))?.[0] ?? '')
  const end = (): void => void (status = 'completed')
  return { gateway, provider, usedSince, answer: held.resolve, end }
}

async function submitVideo(t: Test, { gateway }: Videos): Promise<void> {
  const video = { model: 'sora-2', prompt: 'A calm sea', seconds: '4' }
  t.equal((await call(gateway, 'POST', '/v1/videos', video)).status, 200)
}

await t.test('after a reload only the new configuration polls jobs, whatever is still open', async t => {
  const videos = await startVideos(t)
  const { gateway, provider, usedSince } = videos
  const open = askOnce(gateway)
  await until(() => provider.requests.length > 0)

  await submitVideo(t, videos)
  await until(() => provider.requests.length > 3)

  await reload(gateway, text => text.replace('sk-old', 'sk-new'))
  await until(() => usedSince(0).includes('sk-new'))
  const before = provider.requests.length
  await until(() => provider.requests.length > before + 8)
  videos.end()
  await until(async () => (await gateway.charges()).length > 0)

  t.same(new Set(usedSince(before)), new Set(['sk-new']))
  videos.answer()
  t.equal((await open).status, 200)
  t.equal((await gateway.charges()).length, 2)
  t.match(await gateway.balance(), { heldMicros: 0 })
  t.same(await gateway.breaches(), [])
})

const failing =
  "export const failing = { name: 'failing', create: () => ({ start() { throw new Error('no') } }) }"
/** Reasons for which a configuration is not applied, although each of its settings is valid. */
const rejected: readonly (readonly [string, (text: string) => string])[] = [
  ['whose last plugin does not start', text => text.replace('providers:', '  - ./failing.js\nproviders:')],
  [
    'whose plugins are in the wrong order',
    text => text.replace('  - model-router\n', '').replace('providers:', '  - model-router\nproviders:'),
  ],
]

for (const [what, change] of rejected) {
  await t.test(`a configuration ${what} polls nothing, and is not shown`, async t => {
    const videos = await startVideos(t)
    const { gateway, provider, usedSince } = videos
    const { configFile, folder } = gateway
    writeFileSync(join(folder, 'failing.js'), failing)
    await submitVideo(t, videos)

    const good = readFileSync(configFile, 'utf8')
    await t.rejects(
      reload(gateway, text => change(text.replace('sk-old', 'sk-new').replace('main', 'other'))),
    )
    const before = provider.requests.length
    writeFileSync(configFile, good)
    await until(() => provider.requests.length > before + 8)
    videos.end()
    await until(async () => (await gateway.charges()).length > 0)

    t.same(new Set(usedSince(before)), new Set(['sk-old']))
    const { stdout } = await runHere(['providers', 'list', '--json', '--config', configFile])
    t.match(stdout, '"openai#main"')
    t.notMatch(stdout, '"openai#other"')
    t.match(await gateway.balance(), { heldMicros: 0 })
    t.same(await gateway.breaches(), [])
  })
}

await t.test('a proxy that a reload has removed is not checked any more, whatever is still open', async t => {
  const held = Promise.withResolvers<void>()
  const upstream = await startTlsUpstream(t, async () => {
    await held.promise
    return plainAnswer(200, json, openai.document)
  })
  let connections = 0
  const removed = createServer(socket => {
    connections += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(removed, 'listening')
  t.teardown(() => removed.close())
  const { port } = removed.address() as AddressInfo
  const kept = await startHttpEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, {
    removed: `http://127.0.0.1:${port}`,
    kept: kept.url,
  })
  const open = askOnce(gateway)
  await until(() => upstream.requests.length > 0)
  t.ok(connections > 0)
  t.match(alarmsIn(gateway), [/egress_down/])

  await reload(gateway, text => text.replaceAll(/^ +- removed\n/gm, ''))
  const before = connections
  await setTimeout(2500)

  t.equal(connections, before)
  held.resolve()
  t.equal((await open).status, 200)
  t.match(alarmsIn(gateway), [/egress_down/])
})
