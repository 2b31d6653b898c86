import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { TextDensity } from '../../lib/http/text-density.ts'
import { makeOpenaiBatch } from '../fixtures/batch-clients.ts'
import { batchConfig } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, usageOf } from '../fixtures/batch-provider.ts'
import {
  askJson,
  contextConfig,
  contextPrices,
  contextTokens as cachedTokens,
  quotedMicros,
} from '../fixtures/context-gateway.ts'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

/** Micro-roubles a token of the model; a batch costs half. */
const rate = { input: 100, output: 400 }
const cap = 50

const bodyOf = (more: object = {}) => ({
  model: 'gpt-5-nano',
  max_output_tokens: cap,
  input: 'Words',
  ...more,
})
const lineOf = (id: string, body: object) =>
  `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/responses', body })}\n`
const onward = bodyOf({ previous_response_id: 'resp_a' })

/** The usage of the response to the first line of a batch. */
const { input, output } = usageOf(0)
const contextTokens = input + output

/** A gateway whose account has fetched the results of a batch with one stored response. */
async function start(t: Test): Promise<TestGateway> {
  const provider = await startBatchProvider(t)
  const gateway = await startTestGateway(t, { config: batchConfig(provider.origin, 20) })
  const id = await makeOpenaiBatch(gateway, lineOf('a', bodyOf()), '/v1/responses')
  provider.finish(provider.lastBatch())
  await until(async () => (await gateway.charges()).length === 1, 30_000)
  const { output_file_id: file } = await openaiClient(gateway).batches.retrieve(id)
  await call(gateway, 'GET', `/v1/files/${file}/content`)
  return gateway
}

const textTokens = (bodies: readonly object[]): number =>
  bodies.reduce((tokens, body) => {
    const density = new TextDensity()
    density.add(Buffer.from(JSON.stringify(body)))
    return tokens + density.tokens.likely
  }, 0)

await t.test('a request that continues a response of a batch is held for with its whole context', async t => {
  const gateway = await start(t)
  const tokens = textTokens([onward]) + contextTokens
  t.equal(await quotedMicros(gateway, '/v1/responses', onward), tokens * rate.input + cap * rate.output)
})

await t.test('each request of a batch is held for with the context that it continues', async t => {
  const gateway = await start(t)
  const bodies = [onward, bodyOf(), onward, onward]
  const lines = bodies.map((body, index) => lineOf(`next-${index}`, body)).join('')
  const file = await toFile(Buffer.from(lines), 'in.jsonl')
  const { id } = await openaiClient(gateway).files.create({ file, purpose: 'batch' })

  const batch = { input_file_id: id, endpoint: '/v1/responses', completion_window: '24h' }
  const held = await quotedMicros(gateway, '/v1/batches', batch)

  const lineBodies = bodies.map((body, index) => JSON.parse(lineOf(`next-${index}`, body)) as object)
  const tokens = textTokens(lineBodies) + 3 * contextTokens
  t.equal(held, (tokens * rate.input + 4 * cap * rate.output) / 2)
})

await t.test('cached content is held for once for each request of a batch that names it', async t => {
  const storedContent = {
    name: 'cachedContents/abc',
    model: 'models/gemini-3',
    createTime: '2026-08-19T14:00:00Z',
    expireTime: '2026-08-19T15:00:00Z',
    usageMetadata: { totalTokenCount: cachedTokens },
  }
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(storedContent)),
  )
  const gateway = await startTestGateway(t, { config: contextConfig(upstream.origin) })
  const contents = [{ parts: [{ text: 'Long words.' }] }]
  const path = '/v1beta/models/gemini-3:batchGenerateContent'
  const batchOf = (more: object) => {
    const requests = Array.from({ length: 5 }, () => ({ request: { contents, ...more } }))
    return { batch: { displayName: 'b', inputConfig: { requests: { requests } } } }
  }
  const made = await askJson(gateway, '/v1beta/cachedContents', { model: 'models/gemini-3', contents })
  t.equal(made.status, 200)

  const alone = await quotedMicros(
    gateway,
    path,
    batchOf({ labels: { cachedContents: 'cachedContents/ab' } }),
  )
  const cached = await quotedMicros(gateway, path, batchOf({ cachedContent: 'cachedContents/abc' }))

  const ofContent = 5 * cachedTokens * contextPrices.cachedInput
  t.ok(Math.abs(cached - alone - ofContent) < 5 * 20 * contextPrices.input, `${cached} and ${alone}`)
})
