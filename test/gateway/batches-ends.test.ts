import { constants, gzipSync } from 'node:zlib'
import { toFile } from 'openai'
import t, { type Test } from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { batchClients, batchLine, makeOpenaiBatch } from '../fixtures/batch-clients.ts'
import { batchConfig, batchPublicUrl, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, usageOf, type BatchProvider } from '../fixtures/batch-provider.ts'
import { send } from '../fixtures/http-client.ts'
import { anthropicClient, googleClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const credit = 1_000_000_000
const often = 20
const never = 3_600_000

async function start(
  t: Test,
  pollMs = often,
): Promise<{ readonly gateway: TestGateway; readonly provider: BatchProvider }> {
  const provider = await startBatchProvider(t)
  return { provider, gateway: await startTestGateway(t, { config: batchConfig(provider.origin, pollMs) }) }
}

/** Waits for a charge, checks that it is the only one and that nothing is held, and returns it. */
async function onlyCharge(t: Test, gateway: TestGateway): Promise<ChargeReport> {
  await until(async () => (await gateway.charges()).length > 0)
  const charges = await gateway.charges()
  t.equal(charges.length, 1, 'one charge')
  const [charge] = charges
  const paid = Math.round(Number(charge?.amount) * 1e6)
  t.match(await gateway.balance(), { balanceMicros: credit - paid, heldMicros: 0 })
  t.same(await gateway.breaches(), [], 'the ledger is in order')
  return charge as ChargeReport
}

function micros({ amount }: ChargeReport): number {
  return Math.round(Number(amount) * 1e6)
}

for (const client of batchClients) {
  await t.test(`${client.name}: the hold of a failed batch is released`, async t => {
    const { gateway, provider } = await start(t)
    await client.make(gateway)
    t.ok((await gateway.balance()).heldMicros > 0)
    provider.finish(provider.lastBatch(), { status: 'failed' })
    await until(async () => (await gateway.balance()).heldMicros === 0)
    t.match(await gateway.charges(), [{ amount: '0.000000', lines: [], flags: ['provider_error'] }])
    t.match(await gateway.balance(), { balanceMicros: credit })
    t.same(await gateway.breaches(), [])
  })

  await t.test(`${client.name}: a cancelled batch is charged for the requests that were done`, async t => {
    const { gateway, provider } = await start(t)
    await client.make(gateway)
    provider.finish(provider.lastBatch(), { status: 'cancelled', answered: 2 })
    t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 1]))
  })

  await t.test(`${client.name}: failed requests are not charged`, async t => {
    const { gateway, provider } = await start(t)
    await client.make(gateway)
    provider.finish(provider.lastBatch(), { failing: ['b', '1'], hasNoTotals: true })
    t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 2]))
  })

  await t.test(
    `${client.name}: a batch whose end the gateway and several clients see at once is charged once`,
    async t => {
      const { gateway, provider } = await start(t)
      const id = await client.make(gateway)
      provider.finish(provider.lastBatch())
      await Promise.all(Array.from({ length: 12 }, () => client.ask(gateway, id)))
      t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 1, 2]))
    },
  )

  await t.test(`${client.name}: a batch is charged once, when the first client sees its end`, async t => {
    const { gateway, provider } = await start(t, never)
    const id = await client.make(gateway)
    provider.finish(provider.lastBatch())
    if (client.name === 'anthropic') {
      const path = `/v1/messages/batches/${id}/results`
      const results = await send(gateway.url + path, { method: 'GET', headers: ['x-api-key', gateway.key] })
      t.equal(results.body.toString().trim().split('\n').length, 3, 'the results are relayed')
      t.equal((await gateway.charges()).length, 1, 'charged when the results have ended')
    }
    for (let requested = 0; requested < 3; requested += 1) await client.ask(gateway, id)
    t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 1, 2]))
  })
}

await t.test(
  'openai: each model of a batch is charged at its own price, by the lines of the output file',
  async t => {
    const { gateway, provider } = await start(t)
    const lines = [batchLine('a', 'gpt-5-nano'), batchLine('b', 'gpt-5'), batchLine('c', 'gpt-5-nano')]
    await makeOpenaiBatch(gateway, lines.join(''))
    provider.finish(provider.lastBatch())
    const charge = await onlyCharge(t, gateway)
    t.equal(micros(charge), costOf([0, 2]) + costOf([1], 10))
    t.same(
      charge.lines.map(({ model, tier }) => [model, tier]),
      [
        ['gpt-5-nano-2026-01-01', 'batch'],
        ['gpt-5-2026-01-01', 'batch'],
      ],
    )
  },
)

await t.test('openai: the results of a batch are not deleted before it is charged', async t => {
  const { gateway, provider } = await start(t, never)
  const lines = [batchLine('a', 'gpt-5-nano'), batchLine('b', 'gpt-5')]
  const id = await makeOpenaiBatch(gateway, lines.join(''))
  provider.finish(provider.lastBatch())
  const { output_file_id: file } = await openaiClient(gateway).batches.retrieve(id)
  t.same(await gateway.charges(), [], 'its totals are not enough to charge by')
  const deletion = { method: 'DELETE', headers: ['authorization', `Bearer ${gateway.key}`] }
  provider.refuse(503)
  t.equal((await send(`${gateway.url}/v1/files/${file}`, deletion)).status, 400)
  provider.refuse(undefined)
  await send(`${gateway.url}/v1/files/${file}`, deletion)
  t.equal(micros(await onlyCharge(t, gateway)), costOf([0]) + costOf([1], 10))
  t.equal(provider.seen.filter(({ method }) => method === 'DELETE').length, 1)
})

await t.test(
  "openai: a batch whose price has levels is charged by the output file, which has each prompt's length",
  async t => {
    const provider = await startBatchProvider(t)
    const config = batchConfig(provider.origin, often)
    const above = [{ inputTokens: 2000, mode: 'whole', rubPerMillion: { input: '200' } }]
    const models = config['models'] as Record<string, object>
    const levelled = { ...models, 'gpt-5-nano': { ...models['gpt-5-nano'], above } }
    const gateway = await startTestGateway(t, { config: { ...config, models: levelled } })
    const lines = ['a', 'b', 'c'].map(id => batchLine(id, 'gpt-5-nano'))
    await makeOpenaiBatch(gateway, lines.join(''))
    provider.finish(provider.lastBatch())
    const charge = await onlyCharge(t, gateway)
    // Together the prompts are longer than the threshold; none is alone.
    t.equal(micros(charge), costOf([0, 1, 2]))
    t.equal(charge.lines[0]?.model, 'gpt-5-nano-2026-01-01', 'by the output file, not by the totals')
  },
)

await t.test(
  'openai: only the account of a batch reads its output file, retrieves it or cancels it',
  async t => {
    const { gateway, provider } = await start(t)
    const id = await makeOpenaiBatch(gateway, batchLine('a', 'gpt-5-nano'))
    provider.finish(provider.lastBatch())
    await onlyCharge(t, gateway)
    const openai = openaiClient(gateway)
    const { output_file_id: file } = await openai.batches.retrieve(id)
    const content = await (await openai.files.content(String(file))).text()
    t.match(JSON.parse(content), { custom_id: 'a', response: { status_code: 200 } })
    const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
    await gateway.accounts.credit({ accountId, amountMicros: credit, reason: 'test' })
    const { key } = await gateway.accounts.createKey({ accountId })
    provider.forget()
    const other = openaiClient({ url: gateway.url, key })
    for (const refused of [
      () => other.files.content(String(file)),
      () => other.batches.retrieve(id),
      () => other.batches.cancel(id),
    ]) {
      t.match(await refused().catch((error: unknown) => error), { status: 404 })
    }
    t.same(provider.seen, [], 'the provider received no request')
  },
)

await t.test("anthropic: the SDK reads results through the gateway, at the gateway's address", async t => {
  const { gateway, provider } = await start(t, never)
  const requested: string[] = []
  const anthropic = anthropicClient(gateway).withOptions({
    fetch: (input, init) => {
      const url = input instanceof Request ? input.url : input.toString()
      requested.push(url)
      return fetch(url.replace(batchPublicUrl, gateway.url), init)
    },
  })
  const params = {
    model: 'claude-haiku-4-5',
    max_tokens: 9,
    messages: [{ role: 'user' as const, content: 'Hi' }],
  }
  const requests = ['a', 'b'].map(custom_id => ({ custom_id, params }))
  const { id } = await anthropic.messages.batches.create({ requests })
  provider.finish(id, { failing: ['b'] })
  const types: string[] = []
  for await (const { result } of await anthropic.messages.batches.results(id)) types.push(result.type)
  t.same(types, ['succeeded', 'errored'])
  t.equal(requested.at(-1), `${batchPublicUrl}/v1/messages/batches/${id}/results`)
  t.equal(micros(await onlyCharge(t, gateway)), costOf([0]))
})

await t.test('the hold of a batch that the provider refuses is released', async t => {
  const { gateway, provider } = await start(t, never)
  provider.refuse(429)
  for (const client of batchClients.filter(({ name }) => name !== 'openai')) {
    t.match(await client.make(gateway).catch((error: unknown) => error), { status: 429 })
  }
  const lines = batchLine('a', 'gpt-5-nano')
  provider.refuse(undefined)
  const openai = openaiClient(gateway)
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines), 'in.jsonl'),
    purpose: 'batch',
  })
  provider.refuse(400)
  const batch = {
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  } as const
  t.match(await openai.batches.create(batch).catch((error: unknown) => error), { status: 400 })
  await until(async () => (await gateway.balance()).heldMicros === 0)
  const refused = { amount: '0.000000', flags: ['provider_refused'] }
  t.match(await gateway.charges(), [refused, refused, refused])
  t.same(await gateway.breaches(), [])
})

await t.test('anthropic: a finished batch is charged before it is deleted', async t => {
  const { gateway, provider } = await start(t, never)
  const anthropic = anthropicClient(gateway)
  const params = {
    model: 'claude-haiku-4-5',
    max_tokens: 9,
    messages: [{ role: 'user' as const, content: 'Hi' }],
  }
  const { id } = await anthropic.messages.batches.create({ requests: [{ custom_id: 'a', params }] })
  provider.finish(id)
  await anthropic.messages.batches.delete(id)
  t.equal(micros(await onlyCharge(t, gateway)), costOf([0]))
})

await t.test('anthropic: a batch is not charged by a part of its results', async t => {
  const { gateway, provider } = await start(t, never)
  const client = batchClients.find(({ name }) => name === 'anthropic')
  const id = await client?.make(gateway)
  provider.finish(provider.lastBatch())
  const { heldMicros } = await gateway.balance()
  const headers = ['x-api-key', gateway.key]
  const ask = (method: string, ...more: string[]) =>
    send(`${gateway.url}/v1/messages/batches/${id}/results`, { method, headers: [...headers, ...more] })

  t.match(await ask('HEAD'), { status: 200, isWhole: true })
  t.match(await ask('GET', 'range', 'bytes=0-9'), { status: 206, isWhole: true })
  provider.encode(bytes => bytes.subarray(0, -10), 'identity')
  t.match(await ask('GET'), { status: 200, isWhole: true })
  const begun = { finishFlush: constants.Z_SYNC_FLUSH }
  provider.encode(bytes => gzipSync(bytes.subarray(0, bytes.indexOf('\n') + 1), begun), 'gzip')
  t.match(await ask('GET'), { status: 200, isWhole: true })

  t.same(await gateway.charges(), [])
  t.match(await gateway.balance(), { heldMicros }, 'the hold of the batch remains')
  provider.encode(bytes => bytes, 'identity')
  await ask('GET')
  t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 1, 2]))
})

await t.test('anthropic: a batch is charged by compressed results', async t => {
  const { gateway, provider } = await start(t, never)
  const anthropic = anthropicClient(gateway)
  const params = {
    model: 'claude-opus-5',
    max_tokens: 9,
    messages: [{ role: 'user' as const, content: 'Hi' }],
  }
  const { id } = await anthropic.messages.batches.create({ requests: [{ custom_id: 'a', params }] })
  provider.finish(id)
  provider.encode(gzipSync, 'gzip')
  const path = `/v1/messages/batches/${id}/results`
  await send(gateway.url + path, { method: 'GET', headers: ['x-api-key', gateway.key] })
  t.equal(micros(await onlyCharge(t, gateway)), costOf([0], 10))
})

await t.test(
  'google: a batch with requests in a file and responses in a file behind a redirect is charged',
  async t => {
    const { gateway, provider } = await start(t)
    const google = googleClient(gateway)
    const lines = ['a', 'b'].map(key => ({
      key,
      request: { contents: [{ parts: [{ text: key }] }], generation_config: { max_output_tokens: 9 } },
    }))
    const file = await google.files.upload({
      file: new Blob([lines.map(line => JSON.stringify(line)).join('\n')]),
      config: { mimeType: 'application/jsonl' },
    })
    await google.batches.create({ model: 'gemini-2.5-flash', src: String(file.name) })
    t.ok((await gateway.balance()).heldMicros > 0)
    provider.finish(provider.lastBatch())
    t.equal(micros(await onlyCharge(t, gateway)), costOf([0, 1]))
  },
)

await t.test('google: embeddings in a batch are charged by the tokens of each', async t => {
  const { gateway, provider } = await start(t)
  await googleClient(gateway).batches.createEmbeddings({
    model: 'gemini-embedding-001',
    src: { inlinedRequests: { contents: ['one', 'two'] } },
  })
  provider.finish(provider.lastBatch())
  const input = usageOf(0).input + usageOf(1).input
  t.equal(micros(await onlyCharge(t, gateway)), Math.floor(input * 10 * 0.5 + 0.5))
})
