import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// A model reads each text or image of these lists separately: its window bounds one of them, and not the request.

const windowTokens = 1000
const count = 20
const texts = Array.from({ length: count }, () => 'ab '.repeat(windowTokens - 100))
const address = 'https://pictures.example/a.png'
const part = { content: [{ type: 'image_url', image_url: { url: address } }] }
const manyOf = (item: object): readonly object[] => Array.from({ length: count }, () => item)

interface Row {
  readonly name: string
  readonly path: string
  readonly body: object
  /** Tokens that the provider bills, at a thousandth of a rouble each. */
  readonly billed: number
}

const rows: readonly Row[] = [
  { name: 'texts to embed', path: '/somebody/v1/embeddings', body: { input: texts }, billed: 18_000 },
  {
    name: 'images to embed, by their addresses',
    path: '/somebody/v1/embeddings',
    body: { input: manyOf(part) },
    billed: 15_000,
  },
  {
    name: 'images to embed, by addresses in members of another provider',
    path: '/somebody/v1/embeddings',
    body: { input: manyOf({ image: address }) },
    billed: 15_000,
  },
  { name: "texts to embed in Cohere's format", path: '/cohere/v1/embed', body: { texts }, billed: 18_000 },
  {
    name: "images to embed in Cohere's format",
    path: '/cohere/v1/embed',
    body: { inputs: manyOf(part) },
    billed: 15_000,
  },
  {
    name: "an image in Cohere's chat",
    path: '/cohere/v1/chat',
    body: { max_tokens: 1, messages: [{ role: 'user', ...part }] },
    billed: 900,
  },
  {
    name: 'texts to rank',
    path: '/somebody/v1/rerank',
    body: { query: 'q', documents: texts },
    billed: 18_000,
  },
  {
    name: 'texts to rank, each read with the query',
    path: '/somebody/v1/rerank',
    body: { query: 'ab '.repeat(900), documents: Array.from({ length: count }, () => 'a') },
    billed: 18_000,
  },
  {
    name: 'images to rank',
    path: '/somebody/v1/rerank',
    body: { query: 'q', documents: manyOf({ image: address }) },
    billed: 15_000,
  },
]

const model = {
  contextTokensMax: windowTokens,
  outputTokensMax: windowTokens,
  rubPerMillion: { input: '1000', output: '1000' },
  rubPerUnit: { searches: '0' },
}

for (const { name, path, body, billed } of rows) {
  await t.test(`each item is held for separately: ${name}`, async t => {
    const usage = { prompt_tokens: billed, completion_tokens: 0, total_tokens: billed }
    const meta = { billed_units: { input_tokens: billed, output_tokens: 0 } }
    const answer = JSON.stringify(path.startsWith('/cohere') ? { meta } : { data: [], usage })
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json'], answer),
    )
    const provider = {
      credentials: ['c'],
      dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
    }
    const config = {
      providers: { somebody: provider, cohere: provider },
      hold: { riskRub: '0', riskOfPaid: '0' },
      models: { own: { ...model, provider: 'somebody' }, theirs: { ...model, provider: 'cohere' } },
    }
    const text = JSON.stringify({ model: path.startsWith('/cohere') ? 'theirs' : 'own', ...body })
    const ask = async (rub: number) => {
      const gateway = await startTestGateway(t, { rub, config })
      const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
      return { gateway, response: await send(gateway.url + path, { headers, body: text }) }
    }

    const poor = await ask(billed / 1000 - 0.001)
    t.equal(poor.response.status, 402)
    t.equal(upstream.requests.length, 0, 'a request that the account cannot pay is not sent')
    t.same(await poor.gateway.charges(), [])

    const { gateway, response } = await ask(billed / 10)
    t.equal(response.status, 200)
    t.equal(String(response.body), answer)
    t.equal(String(upstream.requests[0]?.body), text)
    t.match(await gateway.chargeOf(response.requestId), { amount: (billed / 1000).toFixed(6), flags: [] })
    t.same(await gateway.breaches(), [])
  })
}
