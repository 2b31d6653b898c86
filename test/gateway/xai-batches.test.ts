import t, { type Test } from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const batchId = 'batch_1'

/** In xAI's form: reasoning is not part of the completion. */
function result(
  id: string,
  prompt_tokens: number,
  completion_tokens: number,
  reasoning_tokens: number,
): object {
  const usage = {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens + reasoning_tokens,
    completion_tokens_details: { reasoning_tokens },
  }
  const chat_get_completion = { id, object: 'chat.completion', model: 'grok-4.3', choices: [], usage }
  return { batch_request_id: id, batch_result: { response: { chat_get_completion } } }
}

/** A gateway before xAI, whose batch has this progress, and whose results are in pages. */
async function start(t: Test, { pollMs = 600_000 } = {}) {
  const state: Record<string, unknown> = { num_requests: 0, num_pending: 0 }
  const about: Record<string, unknown> = { batch_id: batchId, name: 'b', input_file_id: 'file-in', state }
  let pages: readonly object[] = [{ results: [] }]
  const upstream = await startRawUpstream(t, ({ method, path }) => {
    const { pathname, searchParams } = new URL(path, 'http://xai')
    if (method === 'POST' && pathname === '/v1/files') return json({ id: 'file-in', object: 'file' })
    if (pathname.endsWith('/results')) return json(pages[Number(searchParams.get('pagination_token') ?? '0')])
    if (pathname.endsWith(':cancel')) Object.assign(about, { cancel_time: '2026-11-25' })
    return json(about)
  })
  const gateway = await startTestGateway(t, {
    config: {
      plugins: jobConfig(upstream.origin, pollMs)['plugins'],
      providers: { xai: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } } },
      models: {
        'grok-4.3': {
          provider: 'xai',
          outputTokensMax: 1000,
          contextTokensMax: 10_000,
          rubPerMillion: { input: '1000', output: '4000' },
          factors: { batch: '0.5' },
        },
        'grok-imagine-image': {
          provider: 'xai',
          rubPerUnit: { images: '2', 'images/2k': '3', 'images/input': '1' },
        },
        'grok-imagine-video': {
          provider: 'xai',
          rubPerUnit: { videoSeconds: '5', 'videoSeconds/720p': '7', statedUsd: '100' },
        },
      },
      defaultProvider: { openai: 'xai' },
    },
  })
  const upload = async (lines: readonly object[]): Promise<void> => {
    const form = new FormData()
    form.set('file', new Blob([lines.map(line => `${JSON.stringify(line)}\n`).join('')]), 'in.jsonl')
    const headers = { authorization: `Bearer ${gateway.key}` }
    const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
    t.equal(answer.status, 200)
  }
  return {
    gateway,
    upstream,
    upload,
    ask: (method: string, path: string, body?: object) => call(gateway, method, path, body),
    held: async () => (await gateway.balance()).heldMicros,
    go: (requests: number, pending: number, results: readonly object[] = []) => {
      Object.assign(state, { num_requests: requests, num_pending: pending })
      pages = results
    },
  }
}

function json(body: object | undefined) {
  return plainAnswer(
    body === undefined ? 404 : 200,
    ['content-type', 'application/json'],
    JSON.stringify(body ?? {}),
  )
}

/** A request as it is added: a wrapper with its body. */
const request = (id: string, more: object = {}): object => ({
  batch_request_id: id,
  batch_request: { chat_get_completion: { ...chatBody, ...more } },
})
const chatBody = { model: 'grok-4.3', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
const requestsPath = `/v1/batches/${batchId}/requests`

const line = (id: string, url = '/v1/chat/completions', more: object = {}): object => ({
  custom_id: id,
  method: 'POST',
  url,
  body: { model: 'grok-4.3', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more },
})
const imageLine = (id: string, n: number, more: object = {}): object =>
  line(id, '/v1/images/generations', {
    model: 'grok-imagine-image',
    messages: undefined,
    max_tokens: undefined,
    prompt: 'A cat',
    n,
    ...more,
  })
const editLine = (id: string, given: number, more: object = {}): object =>
  line(id, '/v1/images/edits', {
    model: 'grok-imagine-image',
    messages: undefined,
    max_tokens: undefined,
    prompt: 'A hat',
    ...imagesGiven(given),
    ...more,
  })
/** One image is a member of its own, several are a list. */
function imagesGiven(given: number): object {
  const image = { url: 'https://example.org/cat.png', type: 'image_url' }
  return given === 1 ? { image } : { images: Array.from({ length: given }, () => image) }
}
const videoLine = (id: string, duration?: number): object =>
  line(id, '/v1/videos/generations', {
    model: 'grok-imagine-video',
    messages: undefined,
    max_tokens: undefined,
    prompt: 'A cat',
    duration,
    resolution: '720p',
  })
const mediaResult = (id: string, wrapper: string, body: object): object => ({
  batch_request_id: id,
  batch_result: { response: { [wrapper]: body } },
})
const answersLine = line('b', '/v1/responses', { messages: undefined, input: 'Hi' })
const submission = { name: 'b', input_file_id: 'file-in' }

await t.test('a batch of a file is held for, and charged once by all pages of its results', async t => {
  const { ask, upload, gateway, held, go, upstream } = await start(t)
  await upload([line('a'), answersLine, line('c')])

  const made = await ask('POST', '/v1/batches', submission)

  t.equal(made.status, 200, made.body.toString())
  t.ok((await held()) > 0)
  const failed = { batch_request_id: 'c', batch_result: { error: { code: 3, message: 'no' } } }
  const path = `/v1/batches/${batchId}`
  await ask('GET', path)
  go(3, 1)
  await ask('GET', path)
  t.ok((await held()) > 0, 'it is still running')
  go(3, 0, [
    { results: [result('a', 1000, 100, 50)], pagination_token: '1' },
    { results: [result('b', 3000, 20, 0)], pagination_token: '2' },
    { results: [failed] },
  ])
  for (const _time of [1, 2]) t.equal((await ask('GET', path)).status, 200)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [
    { operation: 'batch', amount: '2.340000', usage: { input: 4000, output: 170 }, flags: [] },
  ])
  t.equal(await held(), 0)
  const results = await ask('GET', `${path}/results?limit=1&pagination_token=1`)
  t.match(JSON.parse(results.body.toString()), { pagination_token: '2' }, 'unchanged')
  t.equal(upstream.requests.filter(({ path }) => path.includes('limit=1000')).length, 3)
  t.same(await gateway.breaches(), [])
})

await t.test('results without a usage are charged by their content, on any page', async t => {
  const { ask, upload, gateway, go } = await start(t, { pollMs: 50 })
  await upload([line('a'), line('b')])
  t.equal((await ask('POST', '/v1/batches', submission)).status, 200)
  const withoutUsage = (id: string): object => {
    const chat_get_completion = {
      id,
      model: 'grok-4.3',
      choices: [{ message: { content: 'x'.repeat(80) } }],
    }
    return { batch_request_id: id, batch_result: { response: { chat_get_completion } } }
  }
  go(2, 0, [{ results: [withoutUsage('a')], pagination_token: '1' }, { results: [withoutUsage('b')] }])
  await until(async () => (await gateway.charges()).length === 1)
  const [charge] = await gateway.charges()
  t.match(charge, { usageSource: 'estimated', usage: { output: 40 } })
  t.match(charge?.flags, ['usage_missing', 'estimate_rough'])
  const read = charge?.usage['input'] ?? 0
  t.ok(read > 20 && read < 120, String(read))
  t.same(await gateway.breaches(), [])
})

await t.test('a batch that no client retrieves is charged by polling', async t => {
  const { ask, upload, gateway, go } = await start(t, { pollMs: 50 })
  await upload([line('a')])
  t.equal((await ask('POST', '/v1/batches', submission)).status, 200)
  go(1, 0, [{ results: [result('a', 1000, 100, 50)] }])
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '0.800000', flags: [] }])
})

await t.test('a cancelled batch is charged for its finished requests, and is free without any', async t => {
  for (const results of [[], [result('a', 1000, 100, 50)]]) {
    const { ask, upload, gateway, held, go } = await start(t)
    await upload([line('a'), line('b')])
    await ask('POST', '/v1/batches', submission)
    go(results.length, 0, [{ results }])
    t.equal((await ask('POST', `/v1/batches/${batchId}:cancel`)).status, 200)
    await until(async () => (await gateway.charges()).length === 1)
    t.match(await gateway.charges(), [{ amount: results.length === 0 ? '0.000000' : '0.800000' }])
    t.equal(await held(), 0)
  }
})

await t.test('a batch that cannot be held for is refused with the reason', async t => {
  const { ask, upload, upstream, gateway } = await start(t)
  await upload([line('a'), line('b', '/v1/images/generations', { model: 'grok-imagine-image' })])
  const sent = upstream.requests.length
  const mixed = await ask('POST', '/v1/batches', submission)
  t.equal(mixed.status, 400)
  t.match(mixed.body.toString(), /line 2: .*Make a batch for each/)
  t.equal(upstream.requests.length, sent)

  for (const [others, words] of [
    [[imageLine('a', 1), line('b')], /line 2: .*Make a batch for each/],
    [[imageLine('a', 1), imageLine('b', 1, { resolution: '2k' })], /line 2: .*Make a batch for each/],
    [
      [line('a', '/v1/videos/edits', { model: 'grok-imagine-video' })],
      /line 1: .*not for \/v1\/videos\/edits/,
    ],
    [[editLine('a', 1), editLine('b', 2)], /line 2: .*Make a batch for each/],
    [[editLine('a', 1), imageLine('b', 1)], /line 2: .*Make a batch for each/],
    [[imageLine('a', 1, { model: 'grok-imagine-9' })], /line 1: .*grok-imagine-9/],
  ] as const) {
    const another = await start(t)
    await another.upload(others)
    const sentBefore = another.upstream.requests.length
    const refused = await another.ask('POST', '/v1/batches', submission)
    t.match(refused.body.toString(), words)
    t.ok(refused.status === 400 || refused.status === 404)
    t.equal(another.upstream.requests.length, sentBefore)
  }
  t.same(await gateway.breaches(), [])
})

await t.test('images are held for by their lines, and charged by the images in the results', async t => {
  const { ask, upload, gateway, held, go } = await start(t, { pollMs: 50 })
  await upload([imageLine('a', 4, { resolution: '2k' }), imageLine('b', 2, { resolution: '2K' })])
  const made = await ask('POST', '/v1/batches', submission)
  t.equal(made.status, 200, made.body.toString())
  t.equal(await held(), 18_000_000, 'six images')
  const image = { url: 'https://imgen.x.ai/1.jpg' }
  go(2, 0, [
    {
      results: [
        mediaResult('a', 'image_generation', { data: [image, image, image] }),
        { batch_request_id: 'b', batch_result: { error: { code: 3, message: 'no' } } },
      ],
    },
  ])
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '9.000000', usage: { images: 3 }, flags: [] }])
  t.equal(await held(), 0)
  t.same(await gateway.breaches(), [])
})

await t.test('edits are held for and charged with their source images', async t => {
  const { ask, upload, gateway, held, go } = await start(t, { pollMs: 50 })
  await upload([editLine('a', 2, { n: 2 }), editLine('b', 2), editLine('c', 2), editLine('d', 2)])
  const made = await ask('POST', '/v1/batches', submission)
  t.equal(made.status, 200, made.body.toString())
  t.equal(await held(), 26_000_000, 'five images, and eight source images')
  const image = { url: 'https://imgen.x.ai/1.jpg' }
  go(4, 0, [
    {
      results: [
        mediaResult('a', 'image_edit', { data: [image, image] }),
        mediaResult('b', 'image_edit', { data: [image] }),
        mediaResult('c', 'image_edit', { data: [] }),
        { batch_request_id: 'd', batch_result: { error: { code: 3, message: 'no' } } },
      ],
    },
  ])
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '10.000000', usage: { images: 7 } }])
  t.equal(await held(), 0)
  t.same(await gateway.breaches(), [])
})

await t.test('images, edits and videos are added to one batch, each kind separately', async t => {
  const { ask, gateway, held, go } = await start(t, { pollMs: 50 })
  await ask('POST', '/v1/batches', { name: 'b' })
  const add = async (batch_requests: readonly object[]): Promise<void> => {
    const { status, body } = await ask('POST', requestsPath, { batch_requests })
    t.equal(status, 200, body.toString())
  }
  const of = (id: string, wrapper: string, body: object): object => ({
    batch_request_id: id,
    batch_request: { [wrapper]: body },
  })
  const drawn = { model: 'grok-imagine-image', prompt: 'A cat', resolution: '2K' }
  await add([of('a', 'image_generation', { ...drawn, n: 2 }), of('b', 'image_generation', drawn)])
  t.equal(await held(), 9_000_000, 'three images')
  await add([of('c', 'image_edit', { ...drawn, ...imagesGiven(2) })])
  t.equal(await held(), 18_000_000, 'an edit of two images')
  await add([of('d', 'video_generation', { prompt: 'A cat', duration: 6, resolution: '720p' })])
  t.equal(await held(), 60_000_000, 'six seconds')
  await add([request('e')])

  const image = { url: 'https://imgen.x.ai/1.jpg' }
  go(5, 0, [
    {
      results: [
        mediaResult('d', 'video_generation', { status: 'done', video: { duration: 5 } }),
        result('e', 1000, 100, 50),
        mediaResult('c', 'image_edit', { data: [image] }),
        mediaResult('a', 'image_generation', { data: [image, image] }),
        mediaResult('b', 'image_generation', { data: [] }),
      ],
    },
  ])
  await until(async () => (await gateway.charges()).length === 4 && (await held()) === 0)
  const amounts = (await gateway.charges()).map(({ amount }) => amount)
  t.same(amounts.toSorted(), ['0.800000', '35.000000', '5.000000', '6.000000'])
  t.same(await gateway.breaches(), [])
})

await t.test('videos are charged by their seconds, or by their lines where a result has none', async t => {
  const { ask, upload, gateway, held, go } = await start(t, { pollMs: 50 })
  await upload([videoLine('a', 6), videoLine('b', 10), videoLine('c', 5)])
  const made = await ask('POST', '/v1/batches', submission)
  t.equal(made.status, 200, made.body.toString())
  t.equal(await held(), 147_000_000, '21 seconds')
  go(3, 0, [
    {
      results: [
        mediaResult('a', 'video_generation', { status: 'done', video: { url: 'https://x', duration: 5 } }),
        mediaResult('b', 'video_generation', { status: 'done', video: { url: 'https://x' } }),
        mediaResult('c', 'video_generation', { status: 'failed', error: { code: 'moderated' } }),
      ],
    },
  ])
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '84.000000', usage: { videoSeconds: 12 }, flags: [] }])
  t.equal(await held(), 0)
  t.same(await gateway.breaches(), [])
})

await t.test('a stated cost of a video beyond its seconds is charged', async t => {
  const { ask, upload, gateway, go } = await start(t, { pollMs: 50 })
  await upload([videoLine('a', 2)])
  await ask('POST', '/v1/batches', submission)
  const body = { status: 'done', video: { duration: 2 }, usage: { cost_in_usd_ticks: 1_500_000_000 } }
  go(1, 0, [{ results: [mediaResult('a', 'video_generation', body)] }])
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '15.000000' }])
})

await t.test('another account does not find a batch or its results', async t => {
  const { ask, upload, upstream, gateway } = await start(t)
  await upload([line('a')])
  await ask('POST', '/v1/batches', submission)
  const { id } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: id, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId: id })
  const sent = upstream.requests.length
  for (const [method, path, body] of [
    ['GET', `/v1/batches/${batchId}`, undefined],
    ['GET', `/v1/batches/${batchId}/results`, undefined],
    ['POST', `/v1/batches/${batchId}:cancel`, undefined],
    ['POST', '/v1/batches', submission],
    ['POST', requestsPath, { batch_requests: [request('a')] }],
    ['GET', requestsPath, undefined],
  ] as const) {
    t.equal((await call({ url: gateway.url, key }, method, path, body)).status, 404, `${method} ${path}`)
  }
  t.equal(upstream.requests.length, sent)
})

await t.test('requests added to a batch are held for and charged by addition', async t => {
  const { ask, gateway, held, go, upstream } = await start(t, { pollMs: 50 })
  const made = await ask('POST', '/v1/batches', { name: 'b' })
  t.match(JSON.parse(made.body.toString()), { batch_id: batchId })
  t.equal(await held(), 0, 'a batch without requests costs nothing')

  const inputs = { responses: { model: 'grok-4.3', max_output_tokens: 100, input: 'Hi' } }
  const first = [request('a'), request('b'), { batch_request: inputs, batch_request_id: 'c' }]
  const sent = await ask('POST', requestsPath, { batch_requests: first })
  t.equal(sent.status, 200, sent.body.toString())
  const heldForThree = await held()
  t.ok(heldForThree > 0)
  t.equal((await ask('POST', requestsPath, { batch_requests: [request('d')] })).status, 200)
  t.ok((await held()) > heldForThree)

  go(4, 1)
  await until(() => upstream.requests.filter(({ path }) => path === `/v1/batches/${batchId}`).length > 3)
  t.same(await gateway.charges(), [], 'one is still pending')
  const failed = { batch_result: { error: { code: 3, message: 'no' } }, batch_request_id: 'b' }
  go(4, 0, [
    { results: [result('d', 500, 10, 0), result('a', 1000, 100, 50)], pagination_token: '1' },
    { results: [failed, result('c', 3000, 20, 0)] },
  ])
  await until(async () => (await gateway.charges()).length === 2 && (await held()) === 0)
  t.match(
    (await gateway.charges()).toSorted((one, other) => Number(other.amount) - Number(one.amount)),
    [
      { operation: 'batch-requests', amount: '2.340000', usage: { input: 4000, output: 170 }, flags: [] },
      { operation: 'batch-requests', amount: '0.270000', usage: { input: 500, output: 10 }, flags: [] },
    ],
  )
  const listed = await ask('GET', `/v1/batches/${batchId}/requests`)
  t.equal(listed.status, 200)
  t.same(await gateway.breaches(), [])
})

await t.test(
  'requests that are not counted yet are waited for, and cost nothing in a cancelled batch',
  async t => {
    const { ask, gateway, held, go, upstream } = await start(t, { pollMs: 50 })
    await ask('POST', '/v1/batches', { name: 'b' })
    await ask('POST', requestsPath, { batch_requests: [request('a')] })
    const pollCount = (): number => upstream.requests.filter(({ path }) => path.includes('/results')).length
    go(1, 0, [{ results: [result('another', 1000, 100, 50)] }])
    await until(() => pollCount() > 1)
    t.ok((await held()) > 0)
    t.same(await gateway.charges(), [])
    await ask('POST', `/v1/batches/${batchId}:cancel`)
    await until(async () => (await held()) === 0)
    t.match(await gateway.charges(), [{ amount: '0.000000' }])
    t.same(await gateway.breaches(), [])
  },
)

await t.test('requests that cannot be held for are not added', async t => {
  const { ask, upstream, held } = await start(t)
  await ask('POST', '/v1/batches', { name: 'b' })
  const sent = upstream.requests.length
  const body = chatBody
  const rows: readonly (readonly [string, unknown, RegExp])[] = [
    ['no requests', { batch_requests: [] }, /has no requests/],
    ['no id', { batch_requests: [{ batch_request: { chat_get_completion: body } }] }, /batch_request_id/],
    [
      'an edit of a video',
      {
        batch_requests: [
          { batch_request_id: 'a', batch_request: { video_edit: { model: 'grok-imagine-video' } } },
        ],
      },
      /must be one of chat_get_completion, responses/,
    ],
    [
      'images beside a chat',
      {
        batch_requests: [
          request('a'),
          {
            batch_request_id: 'b',
            batch_request: { image_generation: { model: 'grok-imagine-image', prompt: 'A cat' } },
          },
        ],
      },
      /batch_requests\[1\].*by themselves/,
    ],
    [
      'an image in the same request',
      {
        batch_requests: [
          { batch_request_id: 'a', batch_request: { chat_get_completion: body, image_generation: {} } },
        ],
      },
      /must be one of/,
    ],
    [
      'another spelling',
      { batch_requests: [request('a')], batchRequests: [request('b'), request('c')] },
      /batchRequests is not a known member/,
    ],
    [
      'another spelling of a request',
      { batch_requests: [{ ...request('a'), batchRequest: { chat_get_completion: body } }] },
      /batchRequest is not a known member/,
    ],
    ['a model without a price', { batch_requests: [request('a', { model: 'grok-9' })] }, /grok-9/],
    ['a cap of another endpoint', { batch_requests: [request('a', { max_tokens: 'many' })] }, /whole number/],
  ]
  for (const [name, refused, words] of rows) {
    const { status, body: responseBody } = await ask('POST', requestsPath, refused as object)
    t.ok(status === 400 || status === 404, `${name}: ${status}`)
    t.match(responseBody.toString(), words, name)
  }
  const unknown = await ask('POST', '/v1/batches/batch_other/requests', { batch_requests: [request('a')] })
  t.equal(unknown.status, 404, 'a batch that was not made here')
  t.equal(upstream.requests.length, sent)
  t.equal(await held(), 0)

  const caps = [
    request('a', { max_tokens: undefined, max_output_tokens: 1 }),
    request('b', { max_tokens: undefined }),
  ]
  const holds: number[] = [0]
  for (const one of caps) {
    await ask('POST', requestsPath, { batch_requests: [one] })
    holds.push(await held())
  }
  const [, first = 0, both = 0] = holds
  t.ok(first > 0.9 * (both - first), `a cap that chats ignore: ${holds.join()}`)

  const file = await start(t)
  await file.upload([line('a')])
  await file.ask('POST', '/v1/batches', submission)
  const late = await file.ask('POST', requestsPath, { batch_requests: [request('a')] })
  t.equal(late.status, 501)
  t.match(late.body.toString(), /made of a file/)
})
