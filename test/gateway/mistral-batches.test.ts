import t, { type Test } from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const json = ['content-type', 'application/json']
const jobId = (number: number): string => `b0000000-0000-4000-8000-00000000000${number}`

function result(id: string, prompt_tokens: number, completion_tokens: number): string {
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
  const body = {
    id: `cmpl-${id}`,
    object: 'chat.completion',
    model: 'mistral-small-latest',
    usage,
    choices: [],
  }
  return `${JSON.stringify({ id, custom_id: id, response: { status_code: 200, body }, error: null })}\n`
}

/** A gateway before Mistral, whose batches end when and how the test says. */
async function start(t: Test, { pollMs = 600_000, rub = 1000 } = {}) {
  const status = new Map<string, string>()
  let results = result('0', 1000, 100) + result('1', 3000, 50)
  const upstream = await startRawUpstream(t, ({ method, path }) => {
    const answer = (body: object | string, code = 200) =>
      plainAnswer(code, json, typeof body === 'string' ? body : JSON.stringify(body))
    if (method === 'POST' && path === '/v1/files')
      return answer({ id: 'file-in', object: 'file', purpose: 'batch' })
    if (path === '/v1/files/file-out/content') return answer(results)
    if (method === 'POST' && path === '/v1/batch/jobs') status.set(jobId(status.size + 1), 'QUEUED')
    const id = /^\/v1\/batch\/jobs\/([^/?]+)/.exec(path)?.[1] ?? [...status.keys()].at(-1) ?? ''
    if (path.endsWith('/cancel')) status.set(id, 'CANCELLED')
    const state = status.get(id)
    if (state === undefined) return answer({ detail: 'no' }, 404)
    const output_file = state === 'SUCCESS' ? 'file-out' : null
    return answer({ id, object: 'batch', status: state, endpoint: '/v1/chat/completions', output_file })
  })
  const dialects = { openai: { baseUrl: `${upstream.origin}/v1` } }
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      plugins: jobConfig(upstream.origin, pollMs)['plugins'],
      providers: { mistral: { credentials: ['c'], dialects } },
      models: {
        'mistral-small-latest': {
          provider: 'mistral',
          outputTokensMax: 1000,
          contextTokensMax: 10_000,
          rubPerMillion: { input: '1000', output: '4000' },
          factors: { batch: '0.5' },
        },
        'mistral-embed': { provider: 'mistral', contextTokensMax: 8192, rubPerMillion: { input: '100' } },
        hidden: { provider: 'mistral', rubPerMillion: { input: '1', output: '1' } },
      },
      defaultProvider: { openai: 'mistral' },
    },
    keyModels: ['mistral-*'],
  })
  const ask = async (method: string, path: string, body?: object, key = gateway.key) => {
    const isForm = body instanceof FormData
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, text, json: () => JSON.parse(text) as Record<string, unknown> }
  }
  const upload = (lines: readonly object[]) => {
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new Blob([lines.map(line => `${JSON.stringify(line)}\n`).join('')]), 'in.jsonl')
    return ask('POST', '/mistral/v1/files', form)
  }
  return {
    ask,
    upload,
    gateway,
    upstream,
    held: async () => (await gateway.balance()).heldMicros,
    end: (number: number, state: string) => status.set(jobId(number), state),
    setResults: (text: string) => {
      results = text
    },
  }
}

const chat = (words: string, more: object = {}) => ({
  max_tokens: 100,
  messages: [{ role: 'user', content: words }],
  ...more,
})
const inline = {
  model: 'mistral-small-latest',
  endpoint: '/v1/chat/completions',
  requests: [
    { custom_id: '0', body: chat('What is the best French cheese?') },
    { custom_id: '1', body: chat('And wine?') },
  ],
}
/** Both results, at half of the price. */
const expected = ((4000 * 1000 + 150 * 4000) / 1e6 / 2).toFixed(6)

await t.test(
  'a batch with its requests in the body is held for, and charged once by its results',
  async t => {
    const { ask, gateway, held, end } = await start(t)

    const made = await ask('POST', '/v1/batch/jobs', inline)

    t.equal(made.status, 200, made.text)
    t.ok((await held()) > 0)
    const path = `/v1/batch/jobs/${jobId(1)}`
    t.match((await ask('GET', path)).json(), { status: 'QUEUED' })
    end(1, 'SUCCESS')
    for (const _time of [1, 2]) t.match((await ask('GET', path)).json(), { output_file: 'file-out' })
    await until(async () => (await gateway.charges()).length === 1)
    t.equal(
      (await ask('GET', '/mistral/v1/files/file-out/content')).status,
      200,
      'the results belong to the account',
    )
    t.match(await gateway.charges(), [
      { operation: 'batch-job', amount: expected, usage: { input: 4000, output: 150 }, flags: [] },
    ])
    t.equal(await held(), 0)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a batch of a file is charged by polling when no client retrieves it', async t => {
  const { ask, upload, gateway, upstream, end } = await start(t, { pollMs: 50 })
  const lines = [
    { custom_id: '0', body: chat('What is the best French cheese?') },
    { custom_id: '1', body: chat('And wine?', { model: 'mistral-small-latest' }) },
  ]
  t.equal((await upload(lines)).status, 200)
  const job = { input_files: ['file-in'], model: 'mistral-small-latest', endpoint: '/v1/chat/completions' }

  t.equal((await ask('POST', '/mistral/v1/batch/jobs', job)).status, 200)

  end(1, 'SUCCESS')
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: expected, flags: [] }])
  t.ok(upstream.requests.some(({ method, path }) => `${method} ${path}` === `GET /v1/batch/jobs/${jobId(1)}`))
  t.same(await gateway.breaches(), [])
})

await t.test('a failed batch and a cancelled one cost nothing', async t => {
  const { ask, gateway, held, end } = await start(t)
  await ask('POST', '/v1/batch/jobs', inline)
  end(1, 'FAILED')
  await ask('GET', `/v1/batch/jobs/${jobId(1)}`)
  await ask('POST', '/v1/batch/jobs', inline)
  t.match((await ask('POST', `/v1/batch/jobs/${jobId(2)}/cancel`)).json(), { status: 'CANCELLED' })
  t.equal(await held(), 0)
  t.match(await gateway.charges(), [{ amount: '0.000000' }, { amount: '0.000000' }])
})

await t.test('a batch of embeddings needs a price for input alone', async t => {
  const { ask, gateway, end, setResults } = await start(t)
  const requests = [{ custom_id: '0', body: { input: ['Hello', 'there'] } }]
  const made = await ask('POST', '/v1/batch/jobs', {
    model: 'mistral-embed',
    endpoint: '/v1/embeddings',
    requests,
  })
  t.equal(made.status, 200, made.text)
  const body = {
    object: 'list',
    model: 'mistral-embed',
    usage: { prompt_tokens: 20_000, total_tokens: 20_000 },
  }
  setResults(`${JSON.stringify({ custom_id: '0', response: { status_code: 200, body } })}\n`)
  end(1, 'SUCCESS')
  await ask('GET', `/v1/batch/jobs/${jobId(1)}`)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '2.000000', usage: { input: 20_000 } }])
})

await t.test('a batch that cannot be held for is refused, and the error names the place', async t => {
  const { ask, upload, gateway, upstream } = await start(t)
  await upload([{ custom_id: '0', body: chat('Hi') }])
  const file = { input_files: ['file-in'], endpoint: '/v1/chat/completions' }
  const sent = upstream.requests.length
  for (const [body, status, words] of [
    [{ ...inline, endpoint: '/v1/ocr' }, 501, /not for \/v1\/ocr/],
    [{ ...inline, model: undefined, agent_id: 'ag:1' }, 501, /needs a model/],
    [{ ...inline, agent_id: 'ag:1' }, 501, /agents are not made/],
    [{ ...inline, input_files: ['file-in'] }, 400, /either requests or one file/],
    [{ ...file, model: 'mistral-small-latest', input_files: ['file-in', 'file-2'] }, 400, /one file/],
    [{ ...inline, requests: [] }, 400, /either requests or one file/],
    [{ ...file, model: 'hidden' }, 403, /line 1: .*hidden/],
    [{ ...file, model: 'unknown' }, 404, /line 1: .*unknown/],
    [
      { ...inline, requests: [{ custom_id: '0', body: chat('Hi', { model: 'mistral-embed' }) }] },
      400,
      /requests\[0\].*the batch is for \\"mistral-small-latest\\"/,
    ],
    [{ ...file, model: 'mistral-small-latest', input_files: ['file-nobodys'] }, 404, /file-nobodys/],
  ] as const) {
    const answer = await ask('POST', '/v1/batch/jobs', body)
    t.equal(answer.status, status, JSON.stringify(body))
    t.match(answer.text, words)
  }
  const openai = { input_file_id: 'file-in', endpoint: '/v1/chat/completions', completion_window: '24h' }
  const bare = await ask('POST', '/v1/batches', openai)
  t.equal(bare.status, 400, "a file in Mistral's format is no input of OpenAI's batches")
  t.match(bare.text, /line 1: It must be/)
  t.equal(upstream.requests.length, sent)
  const poor = await start(t, { rub: 0.01 })
  t.equal((await poor.ask('POST', '/v1/batch/jobs', inline)).status, 402)
  t.equal(poor.upstream.requests.length, 0)
  t.same(await gateway.breaches(), [])
})

await t.test('a batch belongs to the account that made it, and only its list has it', async t => {
  const { ask, gateway, upstream } = await start(t)
  for (const _batch of [1, 2, 3]) await ask('POST', '/v1/batch/jobs', inline)
  const { id } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  const { key } = await gateway.accounts.createKey({ accountId: id })
  const sent = upstream.requests.length
  const path = `/v1/batch/jobs/${jobId(1)}`
  for (const [method, target] of [
    ['GET', path],
    ['DELETE', path],
    ['POST', `${path}/cancel`],
  ] as const) {
    t.equal((await ask(method, target, undefined, key)).status, 404, `${method} ${target}`)
  }
  t.equal(upstream.requests.length, sent)
  const listed = async (query: string, whose = gateway.key) => {
    const { data, total } = (await ask('GET', `/v1/batch/jobs${query}`, undefined, whose)).json()
    return [(data as { id: string }[]).map(job => job.id), total]
  }
  t.same(await listed('', key), [[], 0])
  t.same(await listed('?page=0&page_size=100'), [[3, 2, 1].map(jobId), 3])
  t.same(await listed('?page_size=2'), [[3, 2].map(jobId), 3])
  t.same(await listed('?page=1&page_size=2'), [[jobId(1)], 3])
  t.same(await listed('?order_by=created'), [[1, 2, 3].map(jobId), 3])
  t.same(await listed('?status=SUCCESS'), [[], 0])
  t.equal((await ask('GET', '/v1/batch/jobs?page=one')).status, 400)
  t.match((await ask('DELETE', path)).text, /has not ended/)
})
