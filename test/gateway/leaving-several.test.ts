import t from 'tap'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// A stream of several responses ends with the last of them: a client that leaves after the first is charged for all.

interface Row {
  readonly name: string
  readonly path: string
  readonly body: object
  /** The events before the client leaves, and after. */
  readonly first: object
  readonly last: object
  /** In roubles, at a thousandth for each output token. */
  readonly amount: string
}

const candidate = (index: number, text: string): object => ({
  index,
  content: { parts: [{ text }] },
  finishReason: 'STOP',
})
const usageChunk = (tokens: number): object => ({
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: tokens, totalTokenCount: tokens + 10 },
})
const drawn = (tokens: number): object => ({
  type: 'image_generation.completed',
  b64_json: 'iVBORw0KGgo=',
  usage: { input_tokens: 10, output_tokens: tokens, total_tokens: tokens + 10 },
})

const rows: readonly Row[] = [
  {
    name: 'two candidates of Gemini',
    path: '/v1beta/models/gemini:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { candidateCount: 2 } },
    first: { candidates: [candidate(0, 'One.')], ...usageChunk(100) },
    last: { candidates: [candidate(1, 'Two.')], ...usageChunk(300) },
    amount: '0.300000',
  },
  {
    name: 'two images',
    path: '/v1/images/generations',
    body: { model: 'draws', prompt: 'a sea', n: 2, stream: true },
    first: drawn(100),
    last: drawn(300),
    amount: '0.300000',
  },
]

const event = (data: object): Buffer => Buffer.from(`data: ${JSON.stringify(data)}\r\n\r\n`)
const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

for (const { name, path, body, first, last, amount } of rows) {
  await t.test(`a client that leaves after the first of ${name} is charged for both`, async t => {
    let goOn = (): void => undefined
    const hasLeft = new Promise<void>(resolve => (goOn = resolve))
    const upstream = await startRawUpstream(t, async () => {
      const socket = [...upstream.openSockets].at(-1)
      socket?.write(Buffer.concat([head, ...chunked([event(first)]).slice(0, -1)]))
      await hasLeft
      return { pieces: chunked([event(last)]) }
    })
    const rubPerMillion = { input: '0', output: '1000', imageOutput: '1000' }
    const gateway = await startTestGateway(t, {
      config: {
        providers: {
          openai: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
          google: { credentials: ['c'], dialects: { google: { baseUrl: `${upstream.origin}/v1beta` } } },
        },
        defaultProvider: { openai: 'openai', google: 'google' },
        models: {
          gemini: { provider: 'google', outputTokensMax: 1000, rubPerMillion },
          draws: { provider: 'openai', outputTokensMax: 10_000, rubPerMillion },
        },
      },
    })
    const text = JSON.stringify(body)
    const client = await connectRaw(t, gateway.url)
    client.socket.write(
      `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    await until(() => client.received().includes(event(first)))
    client.socket.destroy()
    await until(() => gateway.logLines.length > 0 && upstream.requests.length === 1)
    await new Promise(resolve => setTimeout(resolve, 50))
    goOn()

    await until(async () => (await gateway.charges()).length === 1)
    t.match(await gateway.charges(), [{ amount, outcome: 'aborted' }])
    t.equal((await gateway.balance()).heldMicros, 0)
    t.same(await gateway.breaches(), [])
  })
}
