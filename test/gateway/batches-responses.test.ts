import { gzipSync } from 'node:zlib'
import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { makeOpenaiBatch } from '../fixtures/batch-clients.ts'
import { batchConfig, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, type BatchProvider } from '../fixtures/batch-provider.ts'
import { send } from '../fixtures/http-client.ts'
import { call } from '../fixtures/job-kinds.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

function responseLine(id: string, more: object = {}): string {
  const body = { model: 'gpt-5-nano', max_output_tokens: 50, input: `Question ${id}`, ...more }
  return `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/responses', body })}\n`
}

/** A definition of a tool that looks like a result. */
const disguised = { response: { status_code: 200, body: { object: 'response', id: 'resp_of_b' } } }

interface Batched {
  readonly provider: BatchProvider
  readonly gateway: TestGateway
  readonly other: { readonly url: string; readonly key: string }
  /** The file with its results. */
  readonly file: string
}

/** A batch of three responses, finished and charged; the third is not stored. */
async function batched(t: Test): Promise<Batched> {
  const provider = await startBatchProvider(t)
  const gateway = await startTestGateway(t, { config: batchConfig(provider.origin, 20) })
  const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId })
  const tools = [{ type: 'function', name: 'f', parameters: disguised }]
  const lines = responseLine('a', { tools }) + responseLine('b') + responseLine('c', { store: false })
  const id = await makeOpenaiBatch(gateway, lines, '/v1/responses')
  provider.finish(provider.lastBatch())
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: (costOf([0, 1, 2]) / 1e6).toFixed(6), flags: [] }])
  const { output_file_id: file } = await openaiClient(gateway).batches.retrieve(id)
  return { provider, gateway, other: { url: gateway.url, key }, file: String(file) }
}

async function statusOf(server: { readonly url: string; readonly key: string }, id: string): Promise<number> {
  return (await call(server, 'GET', `/v1/responses/${id}`)).status
}

await t.test('the responses of a batch belong to its account once it has fetched the results', async t => {
  const { provider, gateway, other, file } = await batched(t)
  t.equal(await statusOf(gateway, 'resp_a'), 404, 'unknown before the results are fetched')
  const results = await call(gateway, 'GET', `/v1/files/${file}/content`)
  t.equal(results.status, 200)
  t.match(results.body.toString().trim().split('\n').length, 3)

  for (const id of ['resp_a', 'resp_b']) {
    t.equal(await statusOf(gateway, id), 200)
    t.equal(await statusOf(other, id), 404, 'another account does not find it')
  }
  t.equal(await statusOf(gateway, 'resp_c'), 404, 'it was not stored')
  t.equal(await statusOf(gateway, 'resp_of_b'), 404, 'a response quoted inside a result does not count')

  provider.forget()
  const next = { model: 'gpt-5-nano', input: 'Go on', previous_response_id: 'resp_a' }
  const elsewhere = await call(other, 'POST', '/v1/responses', next)
  t.match(JSON.parse(elsewhere.body.toString()), { error: { code: 'previous_response_not_found' } })
  t.equal(elsewhere.status, 400)
  t.equal((await call(other, 'DELETE', '/v1/responses/resp_a')).status, 404)
  const byItem = { model: 'gpt-5-nano', input: [{ type: 'item_reference', id: 'rs_a' }] }
  t.equal((await call(other, 'POST', '/v1/responses', byItem)).status, 404)
  t.same(provider.seen, [], 'the provider received no request')
  await call(gateway, 'POST', '/v1/responses', next)
  await call(gateway, 'POST', '/v1/responses', byItem)
  t.same(
    provider.seen.map(({ body }) => JSON.parse(body)),
    [next, byItem],
    'the owner continues from them',
  )
  t.equal((await gateway.charges()).filter(({ amount }) => Number(amount) > 0).length, 1)
  t.same(await gateway.breaches(), [])
})

await t.test('the responses in compressed results belong to the account too', async t => {
  const { provider, gateway, other, file } = await batched(t)
  provider.encode(gzipSync, 'gzip')
  await call(gateway, 'GET', `/v1/files/${file}/content`)
  t.equal(await statusOf(gateway, 'resp_b'), 200)
  t.equal(await statusOf(other, 'resp_b'), 404)
})

await t.test('a part of the results records no responses, since it may begin anywhere', async t => {
  const { provider, gateway, file } = await batched(t)
  const text = provider.contentOf(file)
  const start = text.indexOf(JSON.stringify(disguised))
  const range = `bytes=${start}-${start + JSON.stringify(disguised).length - 1}`
  const headers = ['authorization', `Bearer ${gateway.key}`, 'range', range]
  const part = await send(`${gateway.url}/v1/files/${file}/content`, { method: 'GET', headers })
  t.equal(part.status, 206)
  t.same(JSON.parse(part.body.toString()), disguised, 'the part looks like a result')
  t.equal(await statusOf(gateway, 'resp_of_b'), 404)
})

await t.test('an uploaded file records no responses', async t => {
  const { gateway } = await batched(t)
  const openai = openaiClient(gateway)
  const line = `${JSON.stringify(disguised)}\n`
  const upload = { file: await toFile(Buffer.from(line), 'own.jsonl'), purpose: 'user_data' } as const
  const { id } = await openai.files.create(upload)
  t.equal(await (await openai.files.content(id)).text(), line)
  t.equal(await statusOf(gateway, 'resp_of_b'), 404)
})

await t.test(
  'a batch with a request that rents a container is refused, and the error names the line',
  async t => {
    const provider = await startBatchProvider(t)
    const gateway = await startTestGateway(t, { config: batchConfig(provider.origin, 20) })
    const tools = [{ type: 'code_interpreter', container: { type: 'auto' } }]
    const lines = responseLine('a') + responseLine('b', { tools })
    await t.rejects(
      makeOpenaiBatch(gateway, lines, '/v1/responses'),
      /line 2.*No container is rented in a batch/i,
    )
    t.same(await gateway.charges(), [])
  },
)
