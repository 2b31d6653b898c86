import t, { type Test } from 'tap'
import { PipelineBus } from '../../../lib/pipeline/events.ts'
import { askProvider } from '../../../lib/upstream/ask-provider.ts'
import { steadyClock } from '../../../lib/platform/clock.ts'
import { UpstreamPools } from '../../../lib/upstream/upstream-pools.ts'
import { Upstreams } from '../../../lib/upstream/upstreams.ts'
import { configOf } from '../../fixtures/config-of.ts'
import { startHttpEgress } from '../../fixtures/http-egress.ts'
import { plainAnswer, type RawAnswer } from '../../fixtures/raw-upstream.ts'
import { startTlsUpstream, trustTestAuthority } from '../../fixtures/tls-upstream.ts'

trustTestAuthority()

const json = ['content-type', 'application/json']
const country =
  '{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}'
const invalidKey =
  '{"error":{"code":"invalid_api_key","message":"Incorrect API key provided","type":"invalid_request_error"}}'

interface Received {
  readonly status: number | undefined
  readonly body: string
}

interface Asker {
  /** Requests `/v1/thing` and reads the response. */
  ask(options?: {
    readonly signal?: AbortSignal
    readonly take?: (chunk: Buffer) => Promise<void>
  }): Promise<Received>
  readonly alarms: string[]
  /** The paths of the requests that the provider received. */
  readonly paths: string[]
  /** Connections through the first egress. */
  readonly connects: readonly string[]
  stopFirst(): Promise<void>
}

/** A provider behind two egress proxies. */
async function startAsker(t: Test, answer: (path: string, count: number) => RawAnswer): Promise<Asker> {
  const first = await startHttpEgress(t)
  const second = await startHttpEgress(t)
  const paths: string[] = []
  const upstream = await startTlsUpstream(t, request => {
    paths.push(request.path)
    return answer(request.path, paths.length)
  })
  const config = configOf({
    egress: { first: { url: first.url }, second: { url: second.url } },
    providers: {
      openai: {
        credentials: ['provider-credential'],
        egress: ['first', 'second'],
        dialects: { openai: { baseUrl: `${upstream.publicOrigin}/v1` } },
      },
    },
    models: { m: { provider: 'openai', rubPerMillion: { input: '1', output: '1' } } },
  })
  const pools = new UpstreamPools(config)
  const alarms: string[] = []
  const bus = new PipelineBus(() => undefined)
  bus.on('alarm', code => alarms.push(code))
  const upstreams = Upstreams.shared(config, { pools, bus, steadyClock })
  t.teardown(async () => {
    upstreams.close()
    await pools.close()
  })
  const provider = config.providers.get('openai')
  const baseUrl = provider?.dialects.openai?.baseUrl
  const [credential] = provider?.credentials ?? []
  if (provider === undefined || baseUrl === undefined || credential === undefined)
    throw new Error('no provider')
  return {
    alarms,
    paths,
    connects: first.connects,
    stopFirst: () => first.stop(),
    async ask({ signal = AbortSignal.timeout(10_000), take } = {}) {
      let status: number | undefined
      let body = ''
      await askProvider(
        upstreams,
        { chosen: { provider, credential, baseUrl }, dialectName: 'openai', path: '/thing', signal },
        {
          onHead(head) {
            status = head.status
            return head.status < 300
          },
          async onData(chunk) {
            await take?.(chunk)
            body += chunk.toString()
          },
        },
      )
      return { status, body }
    },
  }
}

await t.test('a request uses another egress when its proxy is down', async t => {
  const asker = await startAsker(t, () => plainAnswer(200, json, '{}'))
  await asker.stopFirst()
  for (let count = 0; count < 3; count += 1) t.same(await asker.ask(), { status: 200, body: '{}' })
  t.same(asker.alarms, ['egress_down'])
  t.equal(asker.paths.length, 3)
})

await t.test('a request uses another egress when the country of the first is not served', async t => {
  const asker = await startAsker(t, (_path, count) =>
    count === 1 ? plainAnswer(403, json, country) : plainAnswer(200, json, '{}'),
  )
  t.same(await asker.ask(), { status: 200, body: '{}' })
  t.same(await asker.ask(), { status: 200, body: '{}' })
  t.equal(asker.connects.length, 1)
  t.equal(asker.paths.length, 3)
  t.same(asker.alarms, ['egress_down'])
})

await t.test('a refused credential is suspended for all requests, and not used again', async t => {
  const asker = await startAsker(t, () => plainAnswer(401, json, invalidKey))
  await t.rejects(asker.ask(), { code: 'credentials_exhausted' })
  t.same(asker.alarms, ['credential_suspended'])
  await t.rejects(asker.ask(), { code: 'credentials_exhausted' })
  t.equal(asker.paths.length, 1)
})

await t.test('redirects are followed on the same host, twice', async t => {
  const to = (location: string): RawAnswer => plainAnswer(302, ['location', location], '')
  const asker = await startAsker(t, path =>
    path === '/v1/thing' ? to('/v1/other') : plainAnswer(200, json, '{}'),
  )
  t.same(await asker.ask(), { status: 200, body: '{}' })
  t.same(asker.paths, ['/v1/thing', '/v1/other'])

  const round = await startAsker(t, () => to('/v1/thing'))
  t.match(await round.ask(), { status: 302 })
  t.equal(round.paths.length, 3)

  const away = await startAsker(t, () => to('https://elsewhere.example/thing'))
  await t.rejects(away.ask(), /redirected to another host/)
})

await t.test('a body is read as fast as its reader takes it, and an error of the reader ends it', async t => {
  const body = Buffer.alloc(3_000_000, 'x')
  const asker = await startAsker(t, () => plainAnswer(200, json, body))
  let running = 0
  let runningMost = 0
  const take = async (): Promise<void> => {
    runningMost = Math.max(runningMost, (running += 1))
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
  }
  t.equal((await asker.ask({ take })).body.length, body.length)
  t.equal(runningMost, 1)
  await t.rejects(asker.ask({ take: () => Promise.reject(new Error('enough')) }), /enough/)
  t.equal((await asker.ask()).status, 200, 'the next request succeeds')
})

await t.test('a cut response and an aborted request are errors', async t => {
  const cut = await startAsker(t, () => ({
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')],
    then: 'end',
  }))
  await t.rejects(cut.ask(), { code: 'upstream_failed' })

  const silent = await startAsker(t, () => ({ pieces: [], then: 'keep' }))
  await t.rejects(silent.ask({ signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' })
})
