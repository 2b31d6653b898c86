import { once } from 'node:events'
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { dialectCalls } from '../fixtures/dialect-call.ts'
import type { DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import type { RawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceHeaders = [
  'traceparent',
  `00-${traceId}-${spanId}-01`,
  'tracestate',
  'vendor=1',
  'baggage',
  'user=canary-baggage',
]

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number }
}

interface OtlpMetric {
  readonly name: string
  readonly histogram: {
    readonly dataPoints: readonly { sum: number; count: number; attributes: readonly Attribute[] }[]
  }
}

const plain = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

/** A collector that accepts OTLP as JSON. */
async function startCollector(t: Test) {
  const received: { readonly path: string | undefined; readonly body: string }[] = []
  const server = createServer((request, response) => {
    void text(request).then(body => {
      received.push({ path: request.url, body })
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const bodies = <Part>(path: string, parts: (body: never) => readonly Part[]): readonly Part[] =>
    received.filter(request => request.path === path).flatMap(({ body }) => parts(JSON.parse(body) as never))
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () =>
      bodies('/v1/traces', (body: { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }) =>
        body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    metrics: () =>
      bodies('/v1/metrics', (body: { resourceMetrics: { scopeMetrics: { metrics: OtlpMetric[] }[] }[] }) =>
        body.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)),
      ),
  }
}

/** A model of two providers, of which the first is overloaded. */
function configFor(busy: RawUpstream, able: RawUpstream, telemetry?: object) {
  const provider = (origin: string) => ({
    like: 'openai',
    credentials: [{ name: 'main', value: 'sk-canary-0123456789' }],
    dialects: { openai: { baseUrl: `${origin}/v1` } },
  })
  const last = ['size-limit', 'upstream-proxy', 'usage-tap']
  return {
    plugins: ['auth', 'model-router', ...(telemetry === undefined ? [] : [{ telemetry }]), ...last],
    providers: { busy: provider(busy.origin), able: provider(able.origin) },
    models: { 'test-*': { provider: ['busy', 'able'], rubPerMillion: { input: '1000', output: '1000' } } },
  }
}

async function startBoth(t: Test) {
  const busy = await startRawUpstream(t, () => plainAnswer(503, json, '{"error":{"message":"overloaded"}}'))
  const able = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? plainAnswer(200, ['content-type', 'text/event-stream'], openai.events.join(''))
      : plainAnswer(200, json, openai.document),
  )
  return { busy, able }
}

const loaded: string[] = []
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@opentelemetry/')) loaded.push(specifier)
    return next(specifier, context)
  },
})
t.teardown(() => hooks.deregister())

await t.test(
  'without the plugin nothing of OpenTelemetry is loaded, and trace headers pass unchanged',
  async t => {
    const { busy, able } = await startBoth(t)
    const gateway = await startTestGateway(t, { config: configFor(busy, able) })

    const { status } = await send(gateway.url + openai.path(false), {
      headers: [...openai.keyHeader(gateway.key), ...json, ...traceHeaders],
      body: openai.body(false),
    })

    t.equal(status, 200)
    t.same(loaded, [])
    t.match(able.requests[0]?.headers.join('\n'), `traceparent\n00-${traceId}-${spanId}-01`)
  },
)

await t.test(
  'a request, its attempts and its tokens are exported, without prompts, responses or keys',
  async t => {
    const { busy, able } = await startBoth(t)
    const { received, url, spans, metrics } = await startCollector(t)
    const gateway = await startTestGateway(t, {
      config: configFor(busy, able, { url, clientTrace: 'honor', exportMs: 200 }),
    })
    const ask = (isStreaming: boolean, key = gateway.key) =>
      send(gateway.url + openai.path(isStreaming), {
        headers: [...openai.keyHeader(key), ...json, ...traceHeaders],
        body: openai.body(isStreaming),
      })

    const before = Date.now()
    t.equal((await ask(false)).status, 200)
    t.equal((await ask(true)).status, 200)
    t.equal((await ask(false, 'gw-unknown')).status, 401)
    const after = Date.now()
    await until(() => spans().length >= 7 && metrics().length > 0)

    t.ok(loaded.includes('@opentelemetry/sdk-trace'))
    const requests = spans().filter(({ kind }) => kind === 2)
    t.equal(requests.length, 3)
    for (const request of requests) {
      t.match(request, { traceId, parentSpanId: spanId, name: 'POST chat' })
      t.ok(Number(BigInt(request.startTimeUnixNano) / 1_000_000n) >= before - 1)
      t.ok(Number(BigInt(request.endTimeUnixNano) / 1_000_000n) <= after + 1)
    }
    const [whole] = requests
    t.match(plain(whole?.attributes ?? []), {
      'http.response.status_code': 200,
      'gateway.account.id': gateway.accountId,
      'gateway.key.id': gateway.keyId,
      'gateway.outcome': 'completed',
    })
    t.match(plain(requests.at(-1)?.attributes ?? []), { 'error.type': 'key_invalid' })
    const attempts = spans().filter(({ parentSpanId }) => parentSpanId === whole?.spanId)
    t.match(
      attempts.map(({ name, kind, status, attributes }) => ({
        name,
        kind,
        code: status.code,
        ...plain(attributes),
      })),
      [
        {
          name: 'chat test-model',
          kind: 3,
          code: 2,
          'gateway.provider': 'busy',
          'http.response.status_code': 503,
          'error.type': 'refused',
          'gen_ai.usage.input_tokens': undefined,
        },
        {
          name: 'chat test-model',
          kind: 3,
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'test-model',
          'gen_ai.response.model': 'test-model',
          'gen_ai.usage.input_tokens': 12,
          'gen_ai.usage.output_tokens': 34,
          'gateway.provider': 'able',
          'gateway.credential': 'able#main',
          'gateway.egress': 'direct',
        },
      ],
    )
    await until(() => metrics().some(({ name }) => name === 'gen_ai.client.operation.time_to_first_chunk'))
    const newest = (name: string) => metrics().findLast(one => one.name === name)?.histogram.dataPoints
    t.match(newest('gen_ai.client.operation.duration'), [{ count: 2 }])
    t.match(newest('gen_ai.client.operation.time_to_first_chunk'), [{ count: 1 }])
    t.same(
      newest('gen_ai.client.token.usage')?.map(({ sum, count, attributes }) => [
        plain(attributes)['gen_ai.token.type'],
        plain(attributes)['gen_ai.request.model'],
        count,
        sum,
      ]),
      [
        ['input', 'test-*', 2, 24],
        ['output', 'test-*', 2, 68],
      ],
    )

    const sent = received.map(({ body }) => body).join('\n')
    for (const word of ['short story', 'Once', 'sk-canary', gateway.key, 'canary-baggage'])
      t.notMatch(sent, word)
    for (const { headers } of [...busy.requests, ...able.requests])
      t.notMatch(headers.join('\n').toLowerCase(), /^(?:traceparent|tracestate|baggage)$/m)
  },
)

await t.test(
  'providers receive a span of the gateway where configured, and a failing collector affects no request',
  async t => {
    const { busy, able } = await startBoth(t)
    const away = await startRawUpstream(t, () => ({ pieces: [], then: 'reset' }))
    const gateway = await startTestGateway(t, {
      config: configFor(busy, able, { url: away.origin, sendTrace: true, exportMs: 50 }),
    })

    const { status } = await send(gateway.url + openai.path(false), {
      headers: [...openai.keyHeader(gateway.key), ...json, ...traceHeaders],
      body: openai.body(false),
    })
    await until(() => away.requests.length > 1)

    t.equal(status, 200)
    const own = able.requests[0]?.headers.join('\n') ?? ''
    t.match(own, /traceparent\n00-[\da-f]{32}-[\da-f]{16}-01/)
    t.notMatch(own, traceId, 'the trace of the client is not honoured by default')
    await gateway.gateway.close(1000)
  },
)
