import Database from 'better-sqlite3'
import t from 'tap'
import { providerCredential } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// Qwen reads a file that a message's text names. A client that writes another account's id there would get its content.

const completion = JSON.stringify({
  id: 'c-1',
  object: 'chat.completion',
  model: 'qwen-long',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
let files = 0
const upstream = await startRawUpstream(t, ({ path }) => {
  const document = path.endsWith('/files')
    ? JSON.stringify({ id: `file-batch-${(files += 1)}`, object: 'file', bytes: 1, purpose: 'batch' })
    : path.endsWith('/batches')
      ? JSON.stringify({ id: 'batch_1', object: 'batch', status: 'validating' })
      : completion
  return plainAnswer(200, ['content-type', 'application/json'], document)
})
const dialects = { openai: { baseUrl: `${upstream.origin}/v1` } }
const credentials = [providerCredential]
const price = {
  outputTokensMax: 1000,
  contextTokensMax: 1_000_000,
  rubPerMillion: { input: '10000', output: '1' },
}
const gateway = await startTestGateway(t, {
  config: {
    providers: {
      qwen: { credentials, dialects },
      beijing: { like: 'qwen', credentials, dialects },
      elsewhere: { credentials, dialects },
    },
    defaultProvider: { openai: 'qwen' },
    models: {
      'qwen-long': { provider: 'qwen', ...price },
      'qwen-doc-turbo': { provider: 'beijing', ...price },
      either: { provider: ['elsewhere', 'qwen'], ...price },
      other: { provider: 'elsewhere', ...price },
    },
  },
  rub: 1_000_000,
})
const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
const database = new Database(gateway.storeFile)
const insert = database.prepare(
  `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, created_at)
   VALUES (?, 'file', ?, ?, ?, 'x', 0)`,
)
for (const name of ['qwen', 'beijing']) {
  insert.run(name, 'file-fe-theirs', other.id, `${name}#1`)
  insert.run(name, `file-fe-own-${name}`, gateway.accountId, `${name}#1`)
}
database.close()

async function ask(path: string, body: string): Promise<ClientAnswer> {
  return await send(gateway.url + path, {
    method: 'POST',
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
    body,
  })
}

const user = { role: 'user', content: 'What does it say?' }
const inSystem = (model: string, content: unknown): string =>
  JSON.stringify({ model, messages: [{ role: 'system', content }, user] })
/** Every letter as an escape, as no honest client writes it. */
const escaped = (text: string): string =>
  text.replaceAll(/[^"]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const theirs = 'fileid://file-fe-theirs'
const texts = [
  theirs,
  `fileid://file-fe-own-qwen,${theirs}`,
  'fileid://file-fe-own-qwen, file-fe-theirs',
  `You are helpful.\n${theirs}`,
  'FileId://file-fe-theirs',
  'fileid://file-fe-unknown',
  'fileid://file-fe-own-qwen-not',
]

function bodiesOf(model: string, text: string): readonly string[] {
  const plain = inSystem(model, text)
  const own = JSON.stringify(text)
  return [
    plain,
    plain.replace(own, escaped(own)),
    plain.replace(own, own.replaceAll('/', '\\/')),
    inSystem(model, [{ type: 'text', text }]),
    JSON.stringify({ model, messages: [{ role: 'user', content: text }] }),
    JSON.stringify({ model, messages: [user], Messages_: [{ role: 'system', content: text }] }),
  ]
}

for (const model of ['qwen-long', 'qwen-doc-turbo', 'either']) {
  await t.test(`${model}: a file of another account is not read for a text`, async t => {
    for (const text of texts) {
      for (const body of bodiesOf(model, text)) {
        const answer = await ask('/v1/chat/completions', body)
        t.equal(answer.status, 404, `${body}: ${answer.body.toString()}`)
        t.match(answer.body.toString(), /No file with the id/)
      }
      const response = await ask('/v1/responses', JSON.stringify({ model, instructions: text, input: 'Hi' }))
      t.equal(response.status, 404, `${text}: ${response.body.toString()}`)
    }
    t.equal(upstream.requests.length, 0, 'the provider received no request')
  })
}

await t.test("the account's own file is read, at the provider that has it, and charged", async t => {
  for (const [model, name] of [
    ['qwen-long', 'qwen'],
    ['qwen-doc-turbo', 'beijing'],
  ] as const) {
    const before = upstream.requests.length
    const body = inSystem(model, `fileid://file-fe-own-${name}`)
    const answer = await ask('/v1/chat/completions', body)
    t.equal(answer.status, 200, answer.body.toString())
    t.equal(upstream.requests.length, before + 1)
    t.equal(upstream.requests.at(-1)?.body.toString(), body, 'the same bytes')
  }
  t.match(await gateway.charges(), [{ model: 'qwen-long' }, { model: 'qwen-doc-turbo' }])
})

await t.test('the hold for a file in a text covers the whole window of the model', async t => {
  const poor = await gateway.accounts.createAccount({ email: 'poor@example.org' })
  await gateway.accounts.credit({ accountId: poor.id, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId: poor.id })
  const shelf = new Database(gateway.storeFile)
  shelf
    .prepare(
      `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, created_at)
       VALUES ('qwen', 'file', 'file-fe-poor', ?, 'qwen#1', 'x', 0)`,
    )
    .run(poor.id)
  shelf.close()
  const statusOf = async (text: string): Promise<number> => {
    const { status } = await send(`${gateway.url}/v1/chat/completions`, {
      headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json'],
      body: inSystem('qwen-long', text),
    })
    return status
  }
  t.equal(await statusOf('Hello'), 200)
  t.equal(
    await statusOf('fileid://file-fe-poor'),
    402,
    'the hold of ten thousand roubles exceeds the balance',
  )
})

await t.test("in other models' requests a text is only a text", async t => {
  for (const text of texts) {
    for (const body of bodiesOf('other', text)) {
      const before = upstream.requests.length
      const answer = await ask('/v1/chat/completions', body)
      t.equal(answer.status, 200, `${body}: ${answer.body.toString()}`)
      t.equal(upstream.requests.at(before)?.body.toString(), body)
    }
  }
})

await t.test("a line of a batch does not read another account's file either", async t => {
  const upload = async (provider: string, model: string, text: string): Promise<string> => {
    const body = JSON.parse(inSystem(model, text)) as object
    const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body })
    const form = new FormData()
    form.append('purpose', 'batch')
    form.append('file', new Blob([`${line}\n`]), 'in.jsonl')
    const response = await fetch(`${gateway.url}/${provider}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}` },
      body: form,
    })
    return ((await response.json()) as { id: string }).id
  }
  const create = async (provider: string, id: string): Promise<ClientAnswer> =>
    await ask(
      `/${provider}/v1/batches`,
      JSON.stringify({
        input_file_id: id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        metadata: { note: 'fileid://file-batch-1' },
      }),
    )
  const worst = async (): Promise<number> => (await gateway.balance()).worstMicros
  const held = new Map<string, number>()
  for (const [provider, model, text, status] of [
    ['qwen', 'qwen-long', 'fileid://file-fe-own-qwen', 200],
    ['qwen', 'qwen-long', theirs, 404],
    ['qwen', 'qwen-long', `fileid://file-fe-own-qwen,${theirs}`, 404],
    ['elsewhere', 'other', theirs, 200],
  ] as const) {
    const id = await upload(provider, model, text)
    const before = await worst()
    const answer = await create(provider, id)
    t.equal(answer.status, status, `${provider}, ${text}: ${answer.body.toString()}`)
    if (status === 200) held.set(provider, (await worst()) - before)
  }
  t.ok((held.get('qwen') ?? 0) > 10_000_000_000, 'the hold covers the window where the file is read')
  t.ok((held.get('elsewhere') ?? Infinity) < 10_000_000, 'and only the text elsewhere')
  t.same(await gateway.breaches(), [])
})
