import { NotFoundError, toFile, type OpenAI } from 'openai'
import t, { type Test } from 'tap'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startStoreGateway } from '../fixtures/store-gateway.ts'
import { until } from '../fixtures/until.ts'

const store = { id: 'vs_1', object: 'vector_store', name: 'Books', status: 'completed', usage_bytes: 7 }
const inStore = { id: 'file-1', object: 'vector_store.file', vector_store_id: 'vs_1', status: 'completed' }
const batch = {
  id: 'vsfb_1',
  object: 'vector_store.files_batch',
  vector_store_id: 'vs_1',
  status: 'completed',
}
const gigabyte = 2 ** 30
const json = ['content-type', 'application/json']
/** The usage of 16 bytes, rounded up to a millionth. */
const firstDay = { storageGigabyteDays: 0.000001 }
const page = (...data: readonly object[]): object => ({ object: 'list', data, has_more: false })

/** OpenAI's responses, by method and path. */
const answers: Readonly<Record<string, object>> = {
  'POST /v1/files': { id: 'file-1', object: 'file', purpose: 'assistants' },
  'POST /v1/vector_stores': store,
  'GET /v1/vector_stores/vs_1': store,
  'POST /v1/vector_stores/vs_1': { ...store, name: 'Novels' },
  'DELETE /v1/vector_stores/vs_1': { id: 'vs_1', object: 'vector_store.deleted', deleted: true },
  'POST /v1/vector_stores/vs_1/search': page({ file_id: 'file-1', score: 0.9, content: [] }),
  'POST /v1/vector_stores/vs_1/files': inStore,
  'GET /v1/vector_stores/vs_1/files': page(inStore),
  'GET /v1/vector_stores/vs_1/files/file-1': inStore,
  'POST /v1/vector_stores/vs_1/files/file-1': { ...inStore, attributes: { file_id: 'mine' } },
  'GET /v1/vector_stores/vs_1/files/file-1/content': page({ type: 'text', text: 'Call me Ishmael.' }),
  'DELETE /v1/vector_stores/vs_1/files/file-1': { id: 'file-1', deleted: true },
  'POST /v1/vector_stores/vs_1/file_batches': batch,
  'GET /v1/vector_stores/vs_1/file_batches/vsfb_1': batch,
  'POST /v1/vector_stores/vs_1/file_batches/vsfb_1/cancel': batch,
  'GET /v1/vector_stores/vs_1/file_batches/vsfb_1/files': page(inStore),
  'POST /v1/responses': {
    id: 'resp_1',
    object: 'response',
    model: 'gpt-5',
    status: 'completed',
    output: [],
    usage: { input_tokens: 40, output_tokens: 2, total_tokens: 42 },
  },
}

async function start(t: Test, options: Parameters<typeof startStoreGateway>[2] = {}) {
  const stored = { bytes: 0, isThere: true }
  const upstream = await startRawUpstream(t, ({ method, path }) => {
    if (path === '/v1/vector_stores/vs_1' && method === 'DELETE') stored.isThere = false
    if (path === '/v1/vector_stores/vs_1' && method === 'GET') {
      const answer = { ...store, usage_bytes: stored.bytes }
      return plainAnswer(stored.isThere ? 200 : 404, json, JSON.stringify(answer))
    }
    const answer = answers[`${method} ${path.replace(/\?.*/, '')}`]
    return plainAnswer(answer === undefined ? 404 : 200, json, JSON.stringify(answer ?? {}))
  })
  const { gateway, stranger, pass } = await startStoreGateway(t, upstream.origin, options)
  return {
    gateway,
    stored,
    pass,
    upstream,
    openai: openaiClient(gateway),
    theirs: openaiClient(stranger),
  }
}

/** Every request about an existing store, by OpenAI's client. */
function requestsOf(openai: OpenAI, id: string): readonly (() => Promise<unknown>)[] {
  const { vectorStores } = openai
  const inStore = { vector_store_id: id }
  return [
    () => vectorStores.retrieve(id),
    () => vectorStores.update(id, { name: 'Novels' }),
    async () => vectorStores.search(id, { query: 'Who calls?' }),
    () => vectorStores.files.create(id, { file_id: 'file-1' }),
    async () => vectorStores.files.list(id),
    () => vectorStores.files.retrieve('file-1', inStore),
    () => vectorStores.files.update('file-1', { ...inStore, attributes: { file_id: 'mine' } }),
    async () => vectorStores.files.content('file-1', inStore),
    () => vectorStores.fileBatches.create(id, { files: [{ file_id: 'file-1' }] }),
    () => vectorStores.fileBatches.retrieve('vsfb_1', inStore),
    () => vectorStores.fileBatches.cancel('vsfb_1', inStore),
    async () => vectorStores.fileBatches.listFiles('vsfb_1', inStore),
    () =>
      openai.responses.create({
        model: 'gpt-5',
        input: 'Who calls?',
        tools: [{ type: 'file_search', vector_store_ids: [id] }],
      }),
    () => vectorStores.files.delete('file-1', inStore),
    () => vectorStores.delete(id),
  ]
}

async function upload(openai: OpenAI): Promise<string> {
  const file = await toFile(Buffer.from('Call me Ishmael.'), 'a.txt')
  return (await openai.files.create({ file, purpose: 'assistants' })).id
}

await t.test("OpenAI's client creates, fills, searches and deletes a vector store", async t => {
  const { gateway, openai, upstream } = await start(t)
  const file = await upload(openai)

  t.match(await openai.vectorStores.create({ name: 'Books', file_ids: [file] }), { id: 'vs_1' })
  t.match((await openai.vectorStores.list()).data, [{ id: 'vs_1' }])
  for (const ask of requestsOf(openai, 'vs_1')) await t.resolves(ask())

  t.same((await openai.vectorStores.list()).data, [], 'it is gone')
  t.equal(upstream.requests.length, 3 + requestsOf(openai, '').length, 'all but lists go to OpenAI')
  t.match(await gateway.charges(), [
    // Stored files count three times their size for the first day.
    { operation: 'vector-store-files', usage: firstDay, usageSource: 'estimated', flags: ['size_estimated'] },
    { operation: 'vector-store-files', usage: firstDay },
    { operation: 'responses', usage: { input: 40, output: 2 } },
  ])
  t.same(await gateway.breaches(), [])
})

await t.test("another account's store is refused like one that does not exist", async t => {
  const { openai, theirs, upstream } = await start(t)
  await upload(openai)
  await openai.vectorStores.create({})
  const sent = upstream.requests.length

  for (const id of ['vs_1', 'vs_none']) {
    for (const [index, ask] of requestsOf(theirs, id).entries()) {
      const error = await ask().catch((error: unknown) => error)
      t.ok(error instanceof NotFoundError, `${index} of ${id}: ${String(error)}`)
      t.match(error, { message: new RegExp(`"(${id}|file-1)"`) })
    }
  }
  t.same((await theirs.vectorStores.list()).data, [])
  for (const ask of [
    () => theirs.vectorStores.create({ file_ids: ['file-1'] }),
    () => openai.vectorStores.create({ file_ids: ['file-none'] }),
    () => openai.vectorStores.files.create('vs_1', { file_id: 'file-none' }),
    () => openai.vectorStores.fileBatches.create('vs_1', { files: [{ file_id: 'file-none' }] }),
  ]) {
    t.ok((await ask().catch((error: unknown) => error)) instanceof NotFoundError)
  }
  t.equal(upstream.requests.length, sent, 'the provider receives no request')
})

for (const [name, place] of [
  ['SQLite', async () => ({})],
  ['PostgreSQL', async (t: Test) => ({ store: await (await startPostgres(t)).createDatabase() })],
] as const) {
  await t.test(`a store on ${name} is charged for each day by its size when the day begins`, async t =>
    checkDays(t, await place(t)),
  )
}

async function checkDays(t: Test, sections: object): Promise<void> {
  const { gateway, openai, stored, pass } = await start(t, { sections })
  await openai.vectorStores.create({ file_ids: [await upload(openai)] })
  t.same(await gateway.charges(), [], 'nothing is charged before the day is over')

  stored.bytes = gigabyte / 2
  pass(1)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [
    {
      operation: 'vector-store',
      model: 'text-embedding-3-large',
      usage: { storageGigabyteDays: 0.500001 },
      amount: '500.001000',
      usageSource: 'estimated',
      flags: ['size_estimated'],
    },
  ])
  t.match(await gateway.balance(), { heldMicros: 1_500_000_000 }, 'and three days are held')

  stored.bytes = gigabyte / 4
  pass(1)
  await until(async () => (await gateway.charges()).length === 2)
  t.match((await gateway.charges())[1], {
    usage: { storageGigabyteDays: 0.25 },
    amount: '250.000000',
    flags: [],
  })

  // The gateway was down for three days.
  pass(3)
  await until(async () => (await gateway.charges()).length === 3)
  t.match((await gateway.charges())[2], { usage: { storageGigabyteDays: 0.75 }, usageSource: 'provider' })

  await openai.vectorStores.delete('vs_1')
  pass(1)
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.equal((await gateway.charges()).length, 3, 'a deleted store is not charged further')
  t.same(await gateway.breaches(), [])
}

await t.test('an empty store costs nothing, and is polled every day', async t => {
  const { gateway, openai, stored, pass } = await start(t)
  await openai.vectorStores.create({})
  pass(1)
  // The smallest possible hold.
  await until(async () => (await gateway.balance()).heldMicros === 1)
  t.same(await gateway.charges(), [])
  stored.bytes = gigabyte
  pass(1)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ usage: { storageGigabyteDays: 1 }, amount: '1000.000000' }])
})

await t.test('a store whose next day cannot be held for is deleted when its hold has run out', async t => {
  const { gateway, openai, stored, pass, upstream } = await start(t, { rub: 401 })
  await openai.vectorStores.create({})
  stored.bytes = gigabyte / 10
  pass(1)
  await until(async () => (await gateway.charges()).length === 1)

  pass(1)
  await until(() => alarms(gateway.logLines, 'vector_store_unpaid') === 1)
  pass(2)
  await until(() => pollCount(upstream) === 3)
  t.ok(stored.isThere, 'three days are held')
  pass(1)
  await until(async () => (await gateway.charges()).length === 2)

  t.notOk(stored.isThere, 'the fourth is not')
  t.equal(alarms(gateway.logLines, 'vector_store_deleted'), 1)
  t.match((await gateway.charges())[1], { usage: { storageGigabyteDays: 0.3 }, amount: '300.000000' })
  t.match(await gateway.balance(), { balanceMicros: 1_000_000, heldMicros: 0, debtMicros: 0 })
  t.same(await gateway.breaches(), [])
})

await t.test('a store is refused without money or without a price', async t => {
  const poor = await start(t, { rub: 0 })
  for (const ask of [
    () => poor.openai.vectorStores.create({}),
    () => poor.openai.vectorStores.files.create('vs_1', { file_id: 'file-1' }),
  ]) {
    const error = await ask().catch((error: unknown) => error)
    t.match(error, { status: /402|404/ })
  }
  const price = { provider: 'openai', rubPerMillion: { input: '1000' } }
  const unpriced = await start(t, { sections: { models: { '*': price } } })
  const error = await unpriced.openai.vectorStores.create({}).catch((error: unknown) => error)
  t.match(error, { status: 501, message: /"storageGigabyteDays" of "text-embedding-3-large".* no price/ })
  t.equal(poor.upstream.requests.length + unpriced.upstream.requests.length, 0)
})

function pollCount({ requests }: Awaited<ReturnType<typeof start>>['upstream']): number {
  return requests.filter(({ method, path }) => method === 'GET' && path === '/v1/vector_stores/vs_1').length
}

function alarms(logLines: readonly string[], code: string): number {
  return logLines.filter(line => line.includes(`"alarm":"${code}"`)).length
}
