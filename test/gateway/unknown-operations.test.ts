import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

async function start(t: Test, isolation: 'strict' | 'off') {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], '{"secret":"of somebody else"}'),
  )
  const gateway = await startTestGateway(t, {
    config: {
      isolation,
      providers: {
        somebody: {
          credentials: ['c'],
          dialects: { openai: { baseUrl: `${upstream.origin}/v1` } },
          operations: ['/things', '/things/*', '/account'],
        },
      },
      models: {
        'some-model': { provider: 'somebody', rubPerMillion: { input: '1', output: '1' } },
        'other-*': { provider: 'somebody', rubPerMillion: { input: '1', output: '9' } },
      },
    },
  })
  const ask = (method: string, path: string, body?: string): Promise<ClientAnswer> =>
    send(gateway.url + path, {
      method,
      headers: ['authorization', `Bearer ${gateway.key}`],
      ...(body !== undefined && { body }),
    })
  return { upstream, gateway, ask }
}

const unknown = [
  ['GET', '/somebody/v1/things/thing_1'],
  ['HEAD', '/somebody/v1/things/thing_1'],
  ['DELETE', '/somebody/v1/things/thing_1'],
  ['GET', '/somebody/v1/account?limit=1'],
] as const

await t.test('with strict isolation an unknown path cannot be read or deleted', async t => {
  const { upstream, gateway, ask } = await start(t, 'strict')
  for (const [method, path] of unknown) {
    const { status, body } = await ask(method, path)
    t.equal(status, 501, `${method} ${path}`)
    if (method !== 'HEAD') t.match(body.toString(), /"code":"not_supported"/)
  }
  t.equal((await ask('POST', '/somebody/v1/things', '{"no":"model"}')).status, 501, 'work without a price')
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
  const twoModels = '{"model":"some-model","models":["other-model"]}'
  t.equal((await ask('POST', '/somebody/v1/things', twoModels)).status, 501, 'two models have two prices')
  t.equal((await ask('POST', '/somebody/v1/things', '{"model":"some-model"}')).status, 200)
})

await t.test('without isolation requests with an unknown path are forwarded', async t => {
  const { upstream, ask } = await start(t, 'off')
  for (const [method, path] of unknown) t.equal((await ask(method, path)).status, 200, `${method} ${path}`)
  t.same(
    upstream.requests.map(request => request.path),
    unknown.map(([, path]) => path.replace('/somebody', '')),
  )
})

await t.test('errors name the path as the client wrote it', async t => {
  const { ask } = await start(t, 'strict')
  for (const [method, path] of [
    ['POST', '/v1/nothing/there'],
    ['POST', '/v1beta/nothing/there'],
    ['DELETE', '/v1/chat/completions'],
    ['DELETE', '/somebody/v1/chat/completions'],
  ] as const) {
    const { status, body } = await ask(method, path, method === 'POST' ? '{}' : undefined)
    t.ok(status === 404 || status === 405, `${path}: ${status}`)
    const { error } = JSON.parse(body.toString()) as { error: { message: string } }
    t.ok(error.message.includes(` ${path}`) || error.message.startsWith(path), `${path}: ${error.message}`)
  }
})

await t.test('a path that a provider may read as a known one is not forwarded', async t => {
  const { upstream, ask } = await start(t, 'strict')
  const body = '{"model":"some-model","input":"hi","background":true}'
  const paths = ['/%72esponses', '/responses/', '/Responses', '/responses%20', '/%66iles/', '/VIDEOS']
  for (const path of [...paths, '/responses;', '/responses;a=1', '/responses%3Ba', '/responses;a/']) {
    const { status } = await ask('POST', `/somebody/v1${path}`, body)
    t.equal(status, 404, path)
  }
  for (const path of ['/responses/resp_1;a', '/files;a/file-1', '/files/file-1/content;a']) {
    t.equal((await ask('GET', `/somebody/v1${path}`)).status, 404, path)
  }
  t.equal(upstream.requests.length, 0)
})

await t.test('a known path is recognized in every format of its provider, and in any spelling', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], '{"usageMetadata":{"promptTokenCount":1}}'),
  )
  const price = { provider: 'somebody', rubPerMillion: { input: '1', output: '1' } }
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        somebody: {
          credentials: ['c'],
          dialects: {
            google: { baseUrl: `${upstream.origin}/v1beta` },
            openai: { baseUrl: `${upstream.origin}/v1beta/openai` },
            anthropic: { baseUrl: `${upstream.origin}/v1beta/openai` },
          },
        },
      },
      models: { cheap: price, dear: { ...price, rubPerMillion: { input: '900', output: '900' } } },
    },
  })
  const body = '{"model":"cheap","contents":[]}'
  for (const path of [
    // The path's model would be charged at the price of the body's model.
    '/v1beta/models/dear:%67enerateContent',
    '/v1beta/models/dear:generateContent/',
    '/v1beta/%63achedContents',
    '/v1beta/cachedContents/',
    // One format's base URL is below the other's.
    '/v1beta/openai/%62atches',
    '/v1beta/%6fpenai/batches',
    '/v1beta/openai/Messages/batches',
    // Another format than the one that the path suggests.
    '/v1/%6dessages/batches',
    '/v1/Messages/batches',
  ]) {
    const { status } = await send(`${gateway.url}/somebody${path}`, {
      method: 'POST',
      headers: ['authorization', `Bearer ${gateway.key}`],
      body,
    })
    t.equal(status, 404, path)
  }
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
  const inner = await send(`${gateway.url}/somebody/v1beta/openai/chat/completions`, {
    method: 'POST',
    headers: ['authorization', `Bearer ${gateway.key}`],
    body: '{"model":"cheap","messages":[]}',
  })
  t.equal(inner.status, 200, 'the inner base URL selects its format')
  t.equal(upstream.requests[0]?.path, '/v1beta/openai/chat/completions')
  const [charge] = await gateway.charges()
  t.match(charge, { dialect: 'openai', operation: 'chat' })
})

await t.test('an object in the body of an unknown path must belong to the account', async t => {
  const { upstream, ask } = await start(t, 'strict')
  for (const named of [
    { document: { type: 'file', file_id: 'file-1' } },
    { file_id: 'file-1' },
    { input_files: ['file-1'] },
    { messages: [{ role: 'user', content: [{ type: 'file', file_id: 'file-1' }] }] },
    { messages: [{ role: 'user', content: [{ type: 'document', source: { file_id: 'file-1' } }] }] },
    { input: [{ content: [{ type: 'input_file', file_id: 'file-1' }] }] },
  ]) {
    const { status, body } = await ask(
      'POST',
      '/somebody/v1/things',
      JSON.stringify({ model: 'some-model', ...named }),
    )
    t.equal(status, 404, JSON.stringify(named))
    t.match(body.toString(), 'object_not_found')
  }
  const onward = JSON.stringify({ model: 'some-model', previous_response_id: 'resp_1' })
  const { status, body } = await ask('POST', '/somebody/v1/things', onward)
  t.equal(status, 400)
  t.match(body.toString(), 'previous_response_not_found')
  t.equal(upstream.requests.length, 0)
})

await t.test('a model in the path is not used at the price of the model in the body', async t => {
  for (const isolation of ['strict', 'off'] as const) {
    const { upstream, gateway, ask } = await start(t, isolation)
    for (const path of [
      '/somebody/v1/engines/other-model/completions',
      '/somebody/v1/engines/other-model/chat/completions',
      '/somebody/v1/deployments/other-model/chat/completions',
      '/somebody/v1/Engines/other-model/completions',
      '/v1/engines/other-model/completions',
    ]) {
      const { status } = await ask('POST', path, '{"model":"some-model"}')
      t.ok(status === 501 || status === 404, `${path}: ${status}`)
    }
    t.equal(upstream.requests.length, 0)
    t.same(await gateway.charges(), [])
  }
})
