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

interface Asked {
  readonly status: number | undefined
  readonly body: string
}

interface Desk {
  /** Asks for `/v1/thing`, and takes what comes. */
  ask(options?: {
    readonly signal?: AbortSignal
    readonly take?: (chunk: Buffer) => Promise<void>
  }): Promise<Asked>
  readonly alarms: string[]
  /** What the provider was asked for, and by which way. */
  readonly paths: string[]
  /** Connections by the first way out. */
  readonly connects: readonly string[]
  stopFirst(): Promise<void>
}

/** A provider behind two ways out. */
async function startDesk(t: Test, answer: (path: string, count: number) => RawAnswer): Promise<Desk> {
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

await t.test('a question goes by another way out when its proxy is dead', async t => {
  const desk = await startDesk(t, () => plainAnswer(200, json, '{}'))
  await desk.stopFirst()
  for (let count = 0; count < 3; count += 1) t.same(await desk.ask(), { status: 200, body: '{}' })
  t.same(desk.alarms, ['egress_down'])
  t.equal(desk.paths.length, 3)
})

await t.test('and when the provider does not serve its country', async t => {
  const desk = await startDesk(t, (_path, count) =>
    count === 1 ? plainAnswer(403, json, country) : plainAnswer(200, json, '{}'),
  )
  t.same(await desk.ask(), { status: 200, body: '{}' })
  t.same(await desk.ask(), { status: 200, body: '{}' })
  t.equal(desk.connects.length, 1)
  t.equal(desk.paths.length, 3)
  t.same(desk.alarms, ['egress_down'])
})

await t.test('a credential that is refused is suspended for everybody, and not asked with again', async t => {
  const desk = await startDesk(t, () => plainAnswer(401, json, invalidKey))
  await t.rejects(desk.ask(), { code: 'credentials_exhausted' })
  t.same(desk.alarms, ['credential_suspended'])
  await t.rejects(desk.ask(), { code: 'credentials_exhausted' })
  t.equal(desk.paths.length, 1)
})

await t.test('redirects are followed on the same host, twice', async t => {
  const to = (location: string): RawAnswer => plainAnswer(302, ['location', location], '')
  const desk = await startDesk(t, path =>
    path === '/v1/thing' ? to('/v1/other') : plainAnswer(200, json, '{}'),
  )
  t.same(await desk.ask(), { status: 200, body: '{}' })
  t.same(desk.paths, ['/v1/thing', '/v1/other'])

  const round = await startDesk(t, () => to('/v1/thing'))
  t.match(await round.ask(), { status: 302 })
  t.equal(round.paths.length, 3)

  const away = await startDesk(t, () => to('https://elsewhere.example/thing'))
  await t.rejects(away.ask(), /redirected to another host/)
})

await t.test('a body comes no faster than it is taken, and an error of the taker ends it', async t => {
  const body = Buffer.alloc(3_000_000, 'x')
  const desk = await startDesk(t, () => plainAnswer(200, json, body))
  let running = 0
  let runningMost = 0
  const take = async (): Promise<void> => {
    runningMost = Math.max(runningMost, (running += 1))
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
  }
  t.equal((await desk.ask({ take })).body.length, body.length)
  t.equal(runningMost, 1)
  await t.rejects(desk.ask({ take: () => Promise.reject(new Error('enough')) }), /enough/)
  t.equal((await desk.ask()).status, 200, 'the next question is answered')
})

await t.test('a response that is cut, and a question that is given up, are errors', async t => {
  const cut = await startDesk(t, () => ({
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')],
    then: 'end',
  }))
  await t.rejects(cut.ask(), { code: 'upstream_failed' })

  const silent = await startDesk(t, () => ({ pieces: [], then: 'keep' }))
  await t.rejects(silent.ask({ signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' })
})
