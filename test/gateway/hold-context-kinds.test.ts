import t, { type Test } from 'tap'
import { TextDensity } from '../../lib/http/text-density.ts'
import {
  askJson,
  contextConfig,
  contextPrices,
  contextTokens,
  holdMicros,
  longResponse,
  quotedMicros,
} from '../fixtures/context-gateway.ts'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { responseUsage, startJobProvider } from '../fixtures/job-provider.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const path = '/v1/responses'
const contextMicros = contextTokens * contextPrices.input
const outputMicros = longResponse.usage.output_tokens * contextPrices.input

async function start(t: Test, answer: object, sections: ConfigSections = {}): Promise<TestGateway> {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
  )
  return await startTestGateway(t, { config: { ...contextConfig(upstream.origin), ...sections } })
}

const streamHead = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
const first = { model: 'gpt-5', input: 'Hi' }
const onward = { model: 'gpt-5', input: 'Go on', previous_response_id: 'resp_1' }

await t.test('a referenced item counts with the whole output of its response, and once', async t => {
  const gateway = await start(t, longResponse)
  await askJson(gateway, path, first)
  const refer = (...ids: string[]) => ids.map(id => ({ type: 'item_reference', id }))
  const one = { model: 'gpt-5', input: refer('msg_1') }
  const both = { model: 'gpt-5', input: refer('msg_1', 'msg_2', 'msg_1') }
  const twice = { ...both, previous_response_id: 'resp_1' }

  t.equal(await quotedMicros(gateway, path, one), holdMicros(one, outputMicros))
  t.equal(await quotedMicros(gateway, path, both), holdMicros(both, outputMicros))
  t.equal(await quotedMicros(gateway, path, twice), holdMicros(twice, contextMicros), 'with their response')
})

await t.test(
  'a chat that continues an audio response is held for with the output of that response',
  async t => {
    const usage = {
      prompt_tokens: 5000,
      completion_tokens: 3000,
      completion_tokens_details: { audio_tokens: 2000 },
      total_tokens: 8000,
    }
    const message = { role: 'assistant', audio: { id: 'audio_1', transcript: 'Yes.', data: 'AAAA' } }
    const gateway = await start(t, {
      object: 'chat.completion',
      model: 'gpt-5',
      choices: [{ index: 0, message }],
      usage,
    })
    const chat = '/v1/chat/completions'
    const ask = {
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Hi' }],
      audio: { voice: 'a', format: 'wav' },
    }
    await askJson(gateway, chat, ask)
    const next = { ...ask, messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }
    t.equal(await quotedMicros(gateway, chat, next), holdMicros(next, 3000 * contextPrices.input))
  },
)

/** The output limits of the models in these tests: of jobs and of others. */
const outputMax = { job: 1000, other: 100 }
const tokensIn = (body: object) => {
  const density = new TextDensity()
  density.add(Buffer.from(JSON.stringify(body)))
  return density.tokens
}

await t.test(
  'a background response counts as its hold while it runs, and as its usage once its end is seen',
  async t => {
    const provider = await startJobProvider(t)
    const gateway = await startTestGateway(t, { config: jobConfig(provider.origin, 20) })
    const submission = { ...first, background: true }
    await askJson(gateway, path, submission)
    const alone = tokensIn(onward).likely * 100 + outputMax.job * 400
    const atMost = tokensIn(submission).most + outputMax.job
    t.equal(await quotedMicros(gateway, path, onward), alone + atMost * 100)

    provider.end('resp_1', 'done')
    await until(async () => (await gateway.charges()).length === 1, 30_000)

    t.equal(await quotedMicros(gateway, path, onward), alone + responseUsage.total_tokens * 100)
  },
)

await t.test('a response whose stream has not ended counts as its hold', async t => {
  const upstream = await startRawUpstream(t, ({ body }) => {
    if (!body.includes('stream')) {
      return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(longResponse))
    }
    const event = { type: 'response.completed', response: { ...longResponse, id: 'resp_2' } }
    const pieces = chunked([Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)])
    return { pieces: [streamHead, ...pieces.slice(0, -1)] }
  })
  const gateway = await startTestGateway(t, { config: contextConfig(upstream.origin) })
  await askJson(gateway, path, first)
  const streamed = { ...onward, stream: true }
  const { socket } = await connectRaw(t, gateway.url)
  const text = JSON.stringify(streamed)
  let received = ''
  socket.on('data', (data: Buffer) => (received += data.toString()))
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  )
  await until(() => received.includes('response.completed'))

  const next = { ...onward, previous_response_id: 'resp_2' }
  const atMost = contextTokens + tokensIn(streamed).most + outputMax.other
  t.equal(await quotedMicros(gateway, path, next), holdMicros(next, atMost * contextPrices.input))
})

await t.test('an unknown response adds nothing to the hold', async t => {
  const gateway = await start(t, longResponse, { isolation: 'off' })
  t.equal(await quotedMicros(gateway, path, onward), holdMicros(onward, 0))
  const forgotten = await askJson(gateway, path, { ...first, store: false })
  t.equal(forgotten.status, 200)
  t.equal(await quotedMicros(gateway, path, onward), holdMicros(onward, 0), 'nor does one that is not stored')
})

await t.test(
  'a response that is cut before its usage is charged for the context that it continues',
  async t => {
    const begun = [
      { type: 'response.created', response: { id: 'resp_2', model: 'gpt-5', status: 'in_progress' } },
      { type: 'response.output_text.delta', delta: 'Yes, and then there was more to say of it.' },
    ].map(event => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
    const upstream = await startRawUpstream(t, ({ body }) =>
      body.includes('previous_response_id')
        ? { pieces: [streamHead, ...chunked(begun).slice(0, -1)], then: 'end' }
        : plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(longResponse)),
    )
    const gateway = await startTestGateway(t, { config: contextConfig(upstream.origin) })
    await askJson(gateway, path, first)

    const { requestId, isWhole } = await askJson(gateway, path, { ...onward, stream: true })

    t.notOk(isWhole)
    const charge = await gateway.chargeOf(requestId)
    t.match(charge, { outcome: 'broken', usageSource: 'estimated' })
    const { input = 0, output = 0 } = charge?.usage ?? {}
    t.ok(input > contextTokens && input < contextTokens + 100, `${input}`)
    t.ok(output > 5 && output < 20, `${output}`)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('stored context counts against the tokens per minute of a key', async t => {
  const limit = { 'rate-limit': { tokensPerMinute: 2 * contextTokens - 1 } }
  const plugins = ['auth', 'model-router', limit, 'upstream-proxy', 'usage-tap']
  const gateway = await start(t, longResponse, { plugins })
  t.equal((await askJson(gateway, path, first)).status, 200)
  await until(() => gateway.logLines.some(line => line.includes('"msg":"exchange"')))
  t.equal((await askJson(gateway, path, onward)).status, 429)
  t.equal((await askJson(gateway, path, first)).status, 200)
})
