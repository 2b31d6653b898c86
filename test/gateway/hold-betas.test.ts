import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// A model that reads 200,000 tokens and writes 64,000, at 100 and 500 roubles a million; above its window at twice that.

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"type":"message","usage":{"input_tokens":1}}'),
)
const rates = { input: '100', output: '500' }
const gateway = await startTestGateway(t, {
  rub: 1000,
  config: {
    hold: { riskRub: '0', riskOfPaid: '0' },
    providers: {
      anthropic: { credentials: ['c'], dialects: { anthropic: { baseUrl: `${upstream.origin}/v1` } } },
    },
    models: {
      m: {
        provider: 'anthropic',
        contextTokensMax: 200_000,
        outputTokensMax: 64_000,
        rubPerMillion: rates,
        rubPerUnit: { searches: '0', containers: '0' },
        above: [{ inputTokens: 200_000, mode: 'whole', rubPerMillion: { input: '200', output: '1000' } }],
      },
    },
  },
})

async function post(path: string, body: object, betas?: string) {
  const headers = ['x-api-key', gateway.key, 'content-type', 'application/json']
  if (betas !== undefined) headers.push('anthropic-beta', betas)
  const { status, body: bytes } = await send(gateway.url + path, { headers, body: JSON.stringify(body) })
  return { status, json: JSON.parse(bytes.toString()) as Readonly<Record<string, string>> }
}

const messages = [{ role: 'user', content: 'Hello' }]
const read = {
  model: 'm',
  max_tokens: 100,
  messages,
  tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 }],
}
const write = { model: 'm', max_tokens: 300_000, messages }
const batch = { requests: [{ custom_id: 'a', params: write }] }

async function worstRub(path: string, body: object, betas?: string): Promise<number> {
  const { json } = await post(`/gateway/v1/quote?for=/anthropic/v1${path}`, body, betas)
  return Number(json['worst'])
}

await t.test('a larger window by a beta header is held for, at the rates of that window', async t => {
  const usual = await worstRub('/messages', read)
  t.ok(usual > 40 && usual < 90, `${usual}: read twice at most, in a window of 200,000 tokens`)
  for (const betas of [
    'context-1m-2025-08-07',
    'files-api-2025-04-14, context-1m-2025-08-07',
    'CONTEXT-1M-x',
  ]) {
    const worst = await worstRub('/messages', read, betas)
    t.ok(worst > 200, `${betas}: ${worst}`)
  }
  for (const betas of [
    'files-api-2025-04-14',
    'context-management-2025-06-27',
    'context-100k-x',
    'my-context-1m-x',
  ])
    t.equal(await worstRub('/messages', read, betas), usual, betas)
})

await t.test('longer output by a beta header is held for, in a batch too', async t => {
  const usual = await worstRub('/messages', write)
  t.ok(usual > 32 && usual < 33, `${usual}: no more than the model writes`)
  const more = await worstRub('/messages', write, 'output-300k-2026-03-24')
  t.ok(more > 150 && more < 151, String(more))
  const ofBatch = await worstRub('/messages/batches', batch)
  const moreOfBatch = await worstRub('/messages/batches', batch, 'output-300k-2026-03-24')
  t.ok(moreOfBatch / ofBatch > 4, `${ofBatch} and ${moreOfBatch}`)
})

await t.test(
  'an account with money only for the usual limits is refused before anything is sent',
  async t => {
    const { id: accountId } = await gateway.accounts.createAccount({ email: 'poor@example.org' })
    await gateway.accounts.credit({ accountId, amountMicros: 100_000_000, reason: 'test' })
    const { key } = await gateway.accounts.createKey({ accountId })
    const ask = (betas: readonly string[]) =>
      send(`${gateway.url}/anthropic/v1/messages`, {
        headers: ['x-api-key', key, 'content-type', 'application/json', ...betas],
        body: JSON.stringify(write),
      })
    t.equal((await ask(['anthropic-beta', 'output-300k-2026-03-24'])).status, 402)
    t.equal(
      (await ask(['anthropic-beta', 'a', 'anthropic-beta', 'output-300k-2026-03-24'])).status,
      402,
      'in a second header',
    )
    t.equal(upstream.requests.length, 0)
    t.equal((await ask([])).status, 200)
    t.same(await gateway.breaches(), [])
  },
)
