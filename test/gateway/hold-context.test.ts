import t, { type Test } from 'tap'
import {
  askJson,
  contextConfig,
  contextPrices,
  contextTokens,
  holdMicros,
  longResponse,
  longResponseMicros,
} from '../fixtures/context-gateway.ts'
import type { ClientAnswer } from '../fixtures/http-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

/** One way to continue from context that a provider stores. */
interface Way {
  readonly name: string
  readonly path: string
  /** The request that creates the conversation or the cached content. */
  readonly first: { readonly path?: string; readonly body: object }
  readonly next: object
  /** The provider's response to both, as a document or as events. */
  readonly answer: (path: string, isStreaming: boolean) => RawAnswer
  /** Micro-roubles a token at which the context is held for. */
  readonly rate: number
  /** The cost of the first request, and of the second. */
  readonly costMicros: readonly [number, number]
}

const json = (body: object): RawAnswer =>
  plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(body))

function events(bodies: readonly { readonly type: string }[]): RawAnswer {
  const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
  const pieces = bodies.map(body => Buffer.from(`event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`))
  return { pieces: [head, ...chunked(pieces)] }
}

const responseWay = (name: string, stream: boolean): Way => ({
  name,
  path: '/v1/responses',
  first: { body: { model: 'gpt-5', input: 'Hi', stream } },
  next: { model: 'gpt-5', input: 'Go on', stream, previous_response_id: 'resp_1' },
  answer: (_path, isStreaming) =>
    isStreaming
      ? events([
          {
            type: 'response.created',
            response: { ...longResponse, status: 'in_progress', usage: null },
          } as never,
          { type: 'response.completed', response: longResponse } as never,
        ])
      : json(longResponse),
  rate: contextPrices.input,
  costMicros: [longResponseMicros, longResponseMicros],
})

const interactionWay: Way = {
  name: 'an interaction',
  path: '/v1beta/interactions',
  first: { body: { model: 'gemini-3', input: 'Hi' } },
  next: { model: 'gemini-3', input: 'Go on', previous_interaction_id: 'int_1' },
  answer: () =>
    json({
      id: 'int_1',
      model: 'gemini-3',
      status: 'completed',
      outputs: [{ type: 'text', text: 'Yes.' }],
      usage: {
        total_input_tokens: 190_000,
        total_cached_tokens: 100_000,
        total_output_tokens: 6000,
        total_thought_tokens: 4000,
        total_tokens: 200_000,
      },
    }),
  rate: contextPrices.input,
  costMicros: [longResponseMicros, longResponseMicros],
}

const cacheWay: Way = {
  name: 'a cached content',
  path: '/v1beta/models/gemini-3:generateContent',
  first: {
    path: '/v1beta/cachedContents',
    body: { model: 'models/gemini-3', contents: [{ parts: [{ text: 'Long words.' }] }], ttl: '3600s' },
  },
  next: { contents: [{ parts: [{ text: 'Go on' }] }], cachedContent: 'cachedContents/abc' },
  answer: path =>
    path.endsWith('cachedContents')
      ? json({
          name: 'cachedContents/abc',
          model: 'models/gemini-3',
          createTime: '2026-08-19T14:00:00Z',
          expireTime: '2026-08-19T15:00:00Z',
          usageMetadata: { totalTokenCount: contextTokens },
        })
      : json({
          candidates: [{ content: { parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
          usageMetadata: {
            promptTokenCount: contextTokens + 5,
            cachedContentTokenCount: contextTokens,
            candidatesTokenCount: 2,
            totalTokenCount: contextTokens + 7,
          },
        }),
  rate: contextPrices.cachedInput,
  costMicros: [
    contextTokens * (contextPrices.input + contextPrices.cacheStorage),
    5 * contextPrices.input + contextTokens * contextPrices.cachedInput + 2 * contextPrices.output,
  ],
}

const ways: readonly Way[] = [
  responseWay('a response', false),
  responseWay('a streamed response', true),
  interactionWay,
  cacheWay,
]

interface Started {
  readonly gateway: TestGateway
  readonly sent: () => number
  /** Delays the provider's responses until this promise resolves. */
  readonly delay: (answered: Promise<void>) => void
  readonly ask: (path: string, body: object) => Promise<ClientAnswer>
}

async function start(t: Test, answer: Way['answer'], rub: number): Promise<Started> {
  let delayed: Promise<void> | undefined
  const upstream = await startRawUpstream(t, async ({ path, body }) => {
    await delayed
    return answer(path, body.includes('"stream":true'))
  })
  const config = contextConfig(upstream.origin)
  const gateway = await startTestGateway(t, { config, rub })
  return {
    gateway,
    sent: () => upstream.requests.length,
    delay(answered) {
      delayed = answered
    },
    ask: (path, body) => askJson(gateway, path, body),
  }
}

const roubles = (micros: number): string => (micros / 1e6).toFixed(6)

/** Creates the context that the other requests continue. */
async function begin(t: Test, { ask, gateway }: Started, way: Way): Promise<void> {
  const { status, requestId, body } = await ask(way.first.path ?? way.path, way.first.body)
  t.equal(status, 200, body.toString())
  t.equal((await gateway.chargeOf(requestId))?.amount, roubles(way.costMicros[0]))
}

for (const way of ways) {
  await t.test(
    `a request that continues ${way.name} is refused where the balance does not cover the context`,
    async t => {
      const holds = holdMicros(way.next, contextTokens * way.rate)
      const leftMicros = holds - 1
      const started = await start(t, way.answer, (way.costMicros[0] + leftMicros) / 1e6)
      await begin(t, started, way)

      const refused = await started.ask(way.path, way.next)

      t.equal(refused.status, 402)
      const text = refused.body.toString()
      t.match(text, roubles(holds), 'the amount of the hold')
      t.match(text, roubles(leftMicros), 'and the available amount')
      t.equal(started.sent(), 1)
      const alone = Object.fromEntries(
        Object.entries(way.next).filter(([name]) => !/^(?:previous|cached)/.test(name)),
      )
      t.equal((await started.ask(way.path, alone)).status, 200, 'a request without the context is accepted')
    },
  )

  await t.test(
    `concurrent requests that continue ${way.name} are forwarded as far as the balance covers them`,
    async t => {
      const moneyFor = 4
      const holds = holdMicros(way.next, contextTokens * way.rate)
      const started = await start(t, way.answer, (way.costMicros[0] + moneyFor * holds + holds - 1) / 1e6)
      const { gateway, ask, delay, sent } = started
      await begin(t, started, way)
      const { promise, resolve: letGo } = Promise.withResolvers<void>()
      delay(promise)

      const pending = Array.from({ length: 40 }, () => ask(way.path, way.next))
      let refused = 0
      for (const one of pending) void one.then(({ status }) => (refused += status === 402 ? 1 : 0))
      await until(() => refused === 40 - moneyFor)
      await until(() => sent() === 1 + moneyFor)
      await until(async () => (await gateway.balance()).heldMicros === moneyFor * holds)
      letGo()

      const statuses = (await Promise.all(pending)).map(({ status }) => status)
      t.equal(statuses.filter(status => status === 200).length, moneyFor)
      const charges = await gateway.charges()
      t.same(
        charges.map(({ amount, flags }) => [amount, flags]),
        [way.costMicros[0], ...Array.from({ length: moneyFor }, () => way.costMicros[1])].map(micros => [
          roubles(micros),
          [],
        ]),
        "charged by the provider's usage",
      )
      t.same(await gateway.breaches(), [])
    },
  )

  await t.test(`the context of ${way.name} counts as much after a restart of the gateway`, async t => {
    const first = await start(t, way.answer, 1000)
    await begin(t, first, way)
    await first.gateway.gateway.close(1000)
    const upstream = await startRawUpstream(t, ({ path }) => way.answer(path, false))
    const { promise, resolve: letGo } = Promise.withResolvers<void>()
    const { answer } = upstream
    upstream.answer = async request => {
      await promise
      return answer(request)
    }
    const config = { ...contextConfig(upstream.origin), store: `sqlite:${first.gateway.storeFile}` }
    const gateway = await startTestGateway(t, { config, beside: first.gateway })

    const answering = askJson(gateway, way.path, way.next)
    await until(() => upstream.requests.length === 1)
    const holds = holdMicros(way.next, contextTokens * way.rate)
    await until(async () => (await gateway.balance()).heldMicros > 0)
    t.equal((await gateway.balance()).heldMicros, holds)
    letGo()
    t.equal((await answering).status, 200)
    t.same(await gateway.breaches(), [])
  })
}
