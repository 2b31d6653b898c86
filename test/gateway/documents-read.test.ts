import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const answer = (pages: number) => ({
  pages: Array.from({ length: pages }, (_, index) => ({ index, markdown: `# Page ${index}`, images: [] })),
  model: 'ocr',
  document_annotation: null,
  usage_info: { pages_processed: pages, doc_size_bytes: 4321 },
})

/** A page is 0.2 roubles, an annotated one 0.3; a character of speech 0.01. */
async function start(t: Test, response: string, { rub = 1000, type = 'application/json' } = {}) {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, ['content-type', type], response))
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: {
        somebody: {
          like: 'mistral',
          credentials: ['c'],
          dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
        },
      },
      models: {
        ocr: { provider: 'somebody', rubPerUnit: { pages: '0.2', 'pages/annotated': '0.3' } },
        voice: { provider: 'somebody', rubPerMillion: { characters: '10000' } },
        chat: { provider: 'somebody', rubPerMillion: { input: '1', output: '1' } },
      },
    },
  })
  const post = (path: string, body: object) =>
    send(`${gateway.url}/v1${path}`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
  return { upstream, gateway, post }
}

const byAddress = { type: 'document_url', document_url: 'https://example.org/contract.pdf' }
/** Two pages. */
const pdf = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R>>endobj\n4 0 obj<</Type/Page/Parent 2 0 R>>endobj\n' +
    'trailer<</Root 1 0 R>>\n%%EOF\n',
)
const inline = { type: 'document_url', document_url: `data:application/pdf;base64,${pdf.toString('base64')}` }
const image = { type: 'image_url', image_url: 'https://example.org/receipt.png' }

await t.test('a document is charged by the pages that the provider reports', async t => {
  const body = JSON.stringify(answer(7))
  const { gateway, post } = await start(t, body)
  for (const [more, amount] of [
    [{ document: byAddress }, '1.400000'],
    [{ document: byAddress, document_annotation_format: { type: 'json_schema' } }, '2.100000'],
    [{ document: byAddress, bbox_annotation_format: null }, '1.400000'],
  ] as const) {
    const { status, requestId, body: received } = await post('/ocr', { model: 'ocr', ...more })
    t.equal(status, 200)
    t.equal(received.toString(), body, 'byte for byte')
    t.match(await gateway.chargeOf(requestId), { amount, usage: { pages: 7 }, operation: 'ocr', flags: [] })
  }
  t.same(await gateway.breaches(), [])
})

await t.test(
  'a document is held for by its pages, or by the maximum where their number is unknown',
  async t => {
    const { upstream, post } = await start(t, JSON.stringify(answer(2)), { rub: 0.5 })
    t.equal((await post('/ocr', { model: 'ocr', document: byAddress })).status, 402)
    t.equal((await post('/ocr', { model: 'ocr', document: inline })).status, 200)
    t.equal(upstream.requests.length, 1)
    const rich = await start(t, JSON.stringify(answer(1000)), { rub: 200.1 })
    const { requestId } = await rich.post('/ocr', { model: 'ocr', document: byAddress })
    t.match(await rich.gateway.chargeOf(requestId), { amount: '200.000000', flags: [] })
    const poor = await start(t, JSON.stringify(answer(1)), { rub: 0.21 })
    t.equal((await poor.post('/ocr', { model: 'ocr', document: image })).status, 200)
  },
)

await t.test('a response without a page count is charged by the pages that were sent', async t => {
  const { usage_info: _usage, ...withoutUsage } = answer(2)
  const { gateway, post } = await start(t, JSON.stringify(withoutUsage))
  const { requestId } = await post('/ocr', { model: 'ocr', document: inline })
  t.match(await gateway.chargeOf(requestId), {
    amount: '0.400000',
    usageSource: 'estimated',
    usage: { pages: 2 },
  })
})

await t.test('a document is refused for a model without a price for pages', async t => {
  const { upstream, post } = await start(t, JSON.stringify(answer(2)))
  const { status, body } = await post('/ocr', { model: 'chat', document: inline })
  t.equal(status, 404)
  t.match(body.toString(), /no price for ocr/)
  t.equal(upstream.requests.length, 0)
})

await t.test('speech in a JSON response is charged by characters', async t => {
  const { gateway, post } = await start(t, JSON.stringify({ audio_data: 'SUQzBAAAAAAAI1RTU0U=' }))
  const { requestId } = await post('/audio/speech', { model: 'voice', input: 'Привет!', voice_id: 'v' })
  t.match(await gateway.chargeOf(requestId), {
    amount: '0.070000',
    usage: { characters: 7 },
    usageSource: 'provider',
    flags: [],
  })
})

await t.test('speech in events of JSON is charged by characters', async t => {
  const events = [
    { type: 'speech.audio.delta', audio_data: 'SUQz' },
    { type: 'speech.audio.done', usage: { prompt_tokens: 5, completion_tokens: 40, total_tokens: 45 } },
  ].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const { gateway, post } = await start(t, events.join(''), { type: 'text/event-stream' })
  const body = { model: 'voice', input: 'Привет!', voice_id: 'v', stream: true }
  const { requestId } = await post('/audio/speech', body)
  t.match(await gateway.chargeOf(requestId), { amount: '0.070000', usage: { characters: 7 }, flags: [] })
})
