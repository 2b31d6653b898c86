import Database from 'better-sqlite3'
import t from 'tap'
import { providerCredential } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// A provider fetches an address with the operator's credential if it is one of its own, or of storage in its cloud. A
// client that writes another account's file there would get its content.

const completion = JSON.stringify({
  id: 'c-1',
  object: 'chat.completion',
  model: 'test-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], completion),
)
const price = { input: '1', output: '1', images: '1', videoSeconds: '1', audioSeconds: '1', pages: '1' }
const gateway = await startTestGateway(t, {
  config: {
    providers: {
      p: {
        credentials: [providerCredential],
        dialects: {
          openai: { baseUrl: `${upstream.origin}/v1` },
          anthropic: { baseUrl: `${upstream.origin}/v1` },
          google: { baseUrl: `${upstream.origin}/v1beta` },
        },
      },
    },
    models: {
      'test-model': {
        provider: 'p',
        outputTokensMax: 1000,
        rubPerMillion: { input: '1', output: '1' },
        rubPerUnit: Object.fromEntries(Object.entries(price).slice(2)),
      },
    },
  },
  rub: 1_000_000,
})

async function ask(path: string, body: object | string): Promise<ClientAnswer> {
  const isGoogle = path.startsWith('/v1beta/') && !path.includes('/openai/')
  return await send(gateway.url + path, {
    method: 'POST',
    headers: [
      ...(isGoogle ? ['x-goog-api-key', gateway.key] : ['authorization', `Bearer ${gateway.key}`]),
      ...(path === '/v1/messages' ? ['anthropic-version', '2023-06-01'] : []),
      'content-type',
      'application/json',
    ],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const model = 'test-model'
const host = 'generativelanguage.googleapis.com'
const theirs = `https://${host}/v1beta/files/theirs`

const addresses = [
  theirs,
  `HTTPS://GenerativeLanguage.GoogleAPIs.com./v1beta/files/theirs`,
  `https://user@${host}:443/v1beta/x/../files/theirs?alt=media`,
  `https://${host}/download/v1beta/files/theirs:download`,
  `https:\\\\${host}\\v1beta\\files\\theirs`,
  ` \n${theirs}`,
  `https://generative\nlanguage.googleapis.com/v1beta/files/theirs`,
  `https://ｇenerativelanguage.googleapis.com/v1beta/files/theirs`,
  `https://${host}/v1beta/cachedContents/theirs`,
  `https://${'a'.repeat(5000)}@${host}/v1beta/files/theirs`,
  `${upstream.origin}/v1/files/file-theirs/content`,
  'gs://bucket/theirs',
  's3://bucket/theirs',
  'ms://theirs',
  'files/theirs',
]

const chat = (part: object): object => ({ model, messages: [{ role: 'user', content: [part] }] })
const input = (part: object): object => ({ model, input: [{ role: 'user', content: [part] }] })
const messages = (part: object): object => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user', content: [part] }],
})
const video = `/v1beta/models/${model}:predictLongRunning`
const contents = [{ parts: [{ text: 'Hi' }] }]

type Row = readonly [path: string, body: (address: string) => object]

const rows: readonly Row[] = [
  ['/v1/chat/completions', url => chat({ type: 'image_url', image_url: { url } })],
  ['/v1/chat/completions', url => chat({ type: 'image_url', image_url: url })],
  ['/v1/chat/completions', url => chat({ type: 'video_url', video_url: { url } })],
  ['/v1/chat/completions', url => chat({ type: 'file', file: { file_data: url } })],
  ['/v1/chat/completions', url => chat({ type: 'input_audio', input_audio: { data: url, format: 'wav' } })],
  ['/v1/chat/completions', url => chat({ type: 'some', some_thing: { deep: [{ file_uri: url }] } })],
  [
    '/v1/chat/completions',
    url => ({ model, messages: [{ role: 'user', content: 'Hi', images: [{ image_url: { url } }] }] }),
  ],
  ['/v1/responses', url => input({ type: 'input_image', image_url: url })],
  ['/v1/responses', url => input({ type: 'input_file', file_url: url })],
  [
    '/v1/responses',
    url => ({ model, input: [{ type: 'computer_call_output', call_id: 'c', output: { image_url: url } }] }),
  ],
  [
    '/v1/responses',
    image_url => ({
      model,
      input: 'Hi',
      tools: [{ type: 'image_generation', model, input_image_mask: { image_url } }],
    }),
  ],
  ['/v1/messages', url => messages({ type: 'image', source: { type: 'url', url } })],
  ['/v1/messages', url => messages({ type: 'document', source: { type: 'url', url } })],
  ['/v1/images/edits', url => ({ model, prompt: 'x', image: { url } })],
  ['/v1/videos', url => ({ model, prompt: 'x', input_reference: { image_url: url } })],
  ['/v1/audio/transcriptions', url => ({ model, url })],
  ['/v1/ocr', url => ({ model, document: { type: 'document_url', document_url: url } })],
  [
    `/v1beta/models/${model}:generateContent`,
    fileUri => ({ contents: [{ parts: [{ fileData: { fileUri, mimeType: 'image/png' } }] }] }),
  ],
  [video, fileUri => ({ instances: [{ prompt: 'x', lastFrame: { fileUri } }] })],
  [video, gcsUri => ({ instances: [{ prompt: 'x', image: { gcsUri, mimeType: 'image/png' } }] })],
  [video, gcs_uri => ({ instances: [{ prompt: 'x', video: { gcs_uri } }] })],
  [video, gcsUri => ({ instances: [{ prompt: 'x', referenceImages: [{ image: { gcsUri } }] }] })],
  [video, storageUri => ({ instances: [{ prompt: 'x' }], parameters: { storageUri } })],
  [`/v1beta/models/${model}:predict`, gcsUri => ({ instances: [{ prompt: 'x', image: { gcsUri } }] })],
]

for (const [path, body] of rows) {
  await t.test(`${path} ${JSON.stringify(body('ADDRESS'))}`, async t => {
    const before = upstream.requests.length
    for (const address of addresses) {
      const sent = JSON.stringify(body(address))
      // JSON of other clients writes slashes and letters beyond ASCII as escapes.
      const escaped = sent.replaceAll(
        /[/\u0080-\uffff]/g,
        letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      for (const text of [sent, escaped]) {
        const answer = await ask(path, text)
        t.match(answer.body.toString(), /was found/, `${text.slice(0, 300)}: ${answer.status}`)
        t.equal(answer.status, 404)
      }
    }
    t.equal(upstream.requests.length, before, 'the provider received no request')
  })
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=='
const corpus = 'projects/p/locations/l/ragCorpora/theirs'
const store = 'projects/p/locations/l/collections/c/dataStores/theirs'
const named: readonly (readonly [path: string, body: object])[] = [
  ...[
    { retrieval: { vertexRagStore: { ragCorpora: [corpus] } } },
    { retrieval: { vertexRagStore: { ragResources: [{ ragCorpus: corpus, ragFileIds: ['theirs'] }] } } },
    { retrieval: { vertex_rag_store: { rag_resources: { rag_corpus: corpus } } } },
    { retrieval: { vertexAiSearch: { datastore: store } } },
    { retrieval: { vertexAiSearch: { engine: 'projects/p/engines/theirs' } } },
    { retrieval: { vertexAiSearch: { dataStoreSpecs: [{ dataStore: store }] } } },
    { vertexAiSearch: { datastore: store } },
  ].flatMap(tool => [
    [`/v1beta/models/${model}:generateContent`, { contents, tools: [tool] }] as const,
    [
      '/v1/chat/completions',
      { ...chat({ type: 'text', text: 'Hi' }), extra_body: { google: { tools: [tool] } } },
    ] as const,
  ]),
  ['/v1/videos', { model, prompt: 'x', characters: [{ id: 'char_theirs' }] }],
  ['/v1/videos', { model, prompt: 'x', characters: ['char_theirs'] }],
  ['/v1/videos', { model, prompt: 'x', character_ids: ['char_theirs'] }],
  ['/v1/videos', { model, prompt: 'x', video: { id: 'video_theirs' } }],
  ['/v1/videos', { model, prompt: 'x', source_video_id: 'video_theirs' }],
  ['/v1/responses', { model, input: [{ type: 'image_generation_call', id: 'ig_theirs', result: null }] }],
  ['/v1/responses', { model, input: [{ type: 'item_reference', id: 'msg_theirs', role: 'user' }] }],
  ['/v1/responses', { model, input: [{ type: 'Item_Reference', id: 'msg_theirs' }] }],
  ['/v1/responses', { model, input: [{ id: 'msg_theirs' }] }],
  ['/v1/responses', { model, input: [{ type: 'message', id: 'msg_theirs' }] }],
  ['/v1/messages', { ...messages({ type: 'text', text: 'x' }), container: { id: 'container_theirs' } }],
  [
    '/v1/messages',
    {
      ...messages({ type: 'text', text: 'x' }),
      container: { skills: [{ type: 'custom', skill_id: 'skill_theirs' }] },
    },
  ],
  ['/v1/messages', messages({ type: 'document', source: { type: 'file', file_id: 'file_theirs' } })],
  ['/v1/messages', messages({ type: 'container_upload', file_id: 'file_theirs' })],
  [
    '/v1/messages',
    messages({
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'image', source: { type: 'file', file_id: 'file_theirs' } }],
    }),
  ],
  [
    '/v1/messages',
    messages({
      type: 'document',
      source: {
        type: 'content',
        content: [{ type: 'image', source: { type: 'file', file_id: 'file_theirs' } }],
      },
    }),
  ],
  [
    '/v1/messages',
    {
      ...messages({ type: 'text', text: 'x' }),
      system: [{ type: 'document', source: { type: 'file', file_id: 'file_theirs' } }],
    },
  ],
  [
    '/v1/messages',
    {
      ...messages({ type: 'text', text: 'x' }),
      tools: [{ type: 'memory_20250818', name: 'memory', memory_store_id: 'theirs' }],
    },
  ],
]

for (const [path, body] of named) {
  await t.test(`${path} ${JSON.stringify(body)}`, async t => {
    const before = upstream.requests.length
    const answer = await ask(path, body)
    t.match(answer.body.toString(), /was found/)
    t.equal(answer.status, 404)
    t.equal(upstream.requests.length, before)
  })
}

await t.test('an image that is sent back whole contains no id of another account', async t => {
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  const database = new Database(gateway.storeFile)
  const insert = database.prepare(
    `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, created_at)
     VALUES ('p', 'item', ?, ?, 'p#1', 'x', 0)`,
  )
  insert.run('ig_theirs', other.id)
  insert.run('ig_own', gateway.accountId)
  database.close()
  const image = (id: string): object => ({ type: 'image_generation_call', id, result: png })
  const reference = (id: string): object => ({ type: 'item_reference', id })
  const before = upstream.requests.length

  for (const [input, status] of [
    [[image('ig_theirs')], 404],
    [[image('ig_own'), image('ig_theirs')], 404],
    [[image('ig_unknown'), reference('ig_unknown')], 404],
    [[image('ig_unknown')], 200],
    [[image('ig_own')], 200],
  ] as const) {
    const answer = await ask('/v1/responses', { model, input })
    t.equal(answer.status, status, `${JSON.stringify(input).slice(0, 100)}: ${answer.body.toString()}`)
  }
  t.equal(upstream.requests.length, before + 2)
})

await t.test("a file's name does not continue after the name of the account's own file", async t => {
  const before = upstream.requests.length
  for (const fileUri of [
    'files/theirs',
    'v1beta/files/own/../theirs',
    'files/own/../theirs',
    'files/own%2F..%2Ftheirs',
    `https://${host}/v1beta/files/own%2F..%2Ftheirs`,
    `https://${host}/v1beta/files/own/files/theirs`,
    `https://${host}/v1beta/files/own;files/theirs`,
    `https://${host}/v1beta/files/own%5C..%5Ctheirs`,
  ]) {
    const answer = await ask(`/v1beta/models/${model}:generateContent`, {
      contents: [{ parts: [{ fileData: { fileUri } }] }],
    })
    t.equal(answer.status, 404, fileUri)
    t.notMatch(answer.body.toString(), /"files\/own"/, fileUri)
  }
  t.equal(upstream.requests.length, before)
})

await t.test('addresses of other sites, texts and data are forwarded', async t => {
  const free: readonly (readonly [path: string, body: object])[] = [
    [
      '/v1/chat/completions',
      chat({ type: 'image_url', image_url: { url: 'https://example.org/files/a.png' } }),
    ],
    ['/v1/chat/completions', chat({ type: 'image_url', image_url: { url: 'https://пример.рф/файл.png' } })],
    ['/v1/chat/completions', chat({ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } })],
    ['/v1/chat/completions', chat({ type: 'text', text: theirs })],
    [
      '/v1/chat/completions',
      { model, messages: [{ role: 'assistant', content: 'x', annotations: [{ url: theirs }] }] },
    ],
    [
      '/v1/responses',
      {
        model,
        input: 'Hi',
        tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://example.org/mcp' }],
      },
    ],
    [
      '/v1/responses',
      { model, input: [{ type: 'web_search_call', id: 'ws_1', action: { type: 'open_page', url: theirs } }] },
    ],
    [
      '/v1/messages',
      messages({
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Title: hello' },
      }),
    ],
    [
      `/v1beta/models/${model}:generateContent`,
      { contents: [{ parts: [{ fileData: { fileUri: 'https://www.youtube.com/watch?v=a' } }] }] },
    ],
  ]
  for (const [path, body] of free) {
    for (const text of [
      JSON.stringify(body),
      JSON.stringify(body).replaceAll(
        /[\u0080-\uffff]/g,
        letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    ]) {
      const before = upstream.requests.length
      const answer = await ask(path, text)
      t.equal(upstream.requests.length, before + 1, `${text}: ${answer.status} ${answer.body.toString()}`)
    }
  }
  t.same(await gateway.breaches(), [])
})
