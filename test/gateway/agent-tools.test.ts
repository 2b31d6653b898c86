import { zstdCompressSync } from 'node:zlib'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

interface ToolGateway extends TestGateway {
  readonly seen: Seen[]
}

type Answer = (seen: Seen, response: ServerResponse) => void

const rubPerMillion = { input: '1000', output: '1000' }

/** A gateway whose three providers are one local server. */
async function startTools(t: Test, answer: Answer): Promise<ToolGateway> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, body: Buffer.concat(chunks) }
      seen.push(one)
      answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = (dialect: string, base: string): object => ({
    credentials: ['provider-credential'],
    dialects: { [dialect]: { baseUrl: origin + base } },
  })
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        anthropic: provider('anthropic', '/v1'),
        openai: provider('openai', '/v1'),
        google: provider('google', '/v1beta'),
      },
      models: {
        'claude-*': { provider: 'anthropic', rubPerMillion },
        'claude-sonnet-4-5': { provider: 'anthropic', rubPerMillion },
        'gpt-*': { provider: 'openai', rubPerMillion },
        'gpt-5-codex': { provider: 'openai', rubPerMillion },
        'gemini-*': { provider: 'google', rubPerMillion },
      },
      defaultProvider: { openai: 'openai', anthropic: 'anthropic', google: 'google' },
    },
  })
  return { ...gateway, seen }
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream; charset=utf-8' }

/** The headers that Claude Code sends with every message. */
const claudeHeaders = {
  ...json,
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
  'anthropic-dangerous-direct-browser-access': 'true',
  'x-app': 'cli',
  'x-claude-code-session-id': 'a-session',
  'user-agent': 'claude-cli/2.1.233 (external, cli)',
}

await t.test('Claude Code: the hello check, counting tokens and listing models are served', async t => {
  const gateway = await startTools(t, ({ url }, response) => {
    if (url.startsWith('/api/hello')) response.writeHead(200, json).end('{"message":"hello"}')
    else response.writeHead(200, json).end('{"input_tokens":12}')
  })
  const authorization = `Bearer ${gateway.key}`
  const hello = await fetch(`${gateway.url}/api/hello`, { method: 'HEAD', headers: { authorization } })
  t.equal(hello.status, 200)

  const body = '{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}'
  const counted = await fetch(`${gateway.url}/v1/messages/count_tokens?beta=true`, {
    method: 'POST',
    headers: { ...claudeHeaders, authorization },
    body,
  })
  t.same(await counted.json(), { input_tokens: 12 })
  const [, count] = gateway.seen
  t.equal(count?.url, '/v1/messages/count_tokens?beta=true')
  t.equal(count?.body.toString(), body)
  t.match(count?.headers, {
    'anthropic-beta': claudeHeaders['anthropic-beta'],
    'x-app': 'cli',
    'x-claude-code-session-id': 'a-session',
    'x-api-key': 'provider-credential',
  })
  t.notOk(JSON.stringify(count?.headers).includes(gateway.key))
  t.same(await gateway.charges(), [], 'counting is free')

  const models = await fetch(`${gateway.url}/v1/models?limit=1000`, {
    headers: { ...claudeHeaders, 'x-api-key': gateway.key },
    redirect: 'error',
  })
  t.equal(models.status, 200)
  const { data } = (await models.json()) as { data: { id: string; type: string }[] }
  t.same(
    data.map(({ id, type }) => `${type} ${id}`),
    ['model claude-sonnet-4-5'],
  )
})

await t.test('Claude Code: pings during long silent thinking are relayed at once', async t => {
  let stream: ServerResponse | undefined
  const gateway = await startTools(t, (_seen, response) => {
    stream = response
    response.writeHead(200, sse)
    const usage = { input_tokens: 10, output_tokens: 1 }
    response.write(
      event('message_start', { type: 'message_start', message: { model: 'claude-sonnet-4-5', usage } }),
    )
  })
  const response = await fetch(`${gateway.url}/v1/messages?beta=true`, {
    method: 'POST',
    // Claude Code sets both when its apiKeyHelper provides the key.
    headers: { ...claudeHeaders, authorization: `Bearer ${gateway.key}`, 'x-api-key': gateway.key },
    body: '{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"x"}]}',
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString()
  })()
  await until(() => text.includes('message_start'))
  for (const count of [1, 2, 3]) {
    // The next ping is written only after this one has arrived, so the relay cannot have waited for more.
    stream?.write(event('ping', { type: 'ping' }))
    await until(() => text.split('event: ping').length - 1 === count)
  }
  stream?.write(event('message_delta', { type: 'message_delta', delta: {}, usage: { output_tokens: 7 } }))
  stream?.end(event('message_stop', { type: 'message_stop' }))
  await reading
  t.match(text, /message_stop/)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ usage: { input: 10, output: 7 } }])
})

await t.test('Claude Code: an error of the provider is relayed unchanged', async t => {
  const words =
    '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"req_1"}'
  const gateway = await startTools(t, (_seen, response) =>
    response.writeHead(400, { ...json, 'request-id': 'req_1' }).end(words),
  )
  const answer = await fetch(`${gateway.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { ...claudeHeaders, authorization: `Bearer ${gateway.key}` },
    body: '{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[]}',
  })
  t.equal(answer.status, 400)
  t.equal(await answer.text(), words)
  t.equal(answer.headers.get('request-id'), 'req_1')
})

await t.test('Codex: the body of a POST may be compressed with zstd', async t => {
  const done = {
    type: 'response.completed',
    response: {
      id: 'resp_1',
      model: 'gpt-5-codex',
      usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
    },
  }
  const gateway = await startTools(t, ({ url }, response) => {
    if (url.startsWith('/v1/responses/compact')) {
      response
        .writeHead(200, json)
        .end(
          '{"object":"response.compaction","output":[],"usage":{"input_tokens":4,"output_tokens":1,"total_tokens":5}}',
        )
    } else response.writeHead(200, sse).end(event('response.completed', done))
  })
  const authorization = `Bearer ${gateway.key}`
  const plain = '{"model":"gpt-5-codex","instructions":"x","input":[],"stream":true,"store":false}'
  const body = zstdCompressSync(plain)
  const answer = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: {
      ...json,
      authorization,
      'content-encoding': 'zstd',
      accept: 'text/event-stream',
      version: '0.50.0',
      session_id: 's',
      originator: 'codex_cli_rs',
    },
    body,
  })
  t.match(await answer.text(), /response\.completed/)
  const [sent] = gateway.seen
  t.ok(sent?.body.equals(body), 'the body is forwarded unchanged')
  t.match(sent?.headers, { 'content-encoding': 'zstd', version: '0.50.0', originator: 'codex_cli_rs' })
  // Some servers read an underscore in a header name as a hyphen, so a client could set any header with one.
  t.notOk(Object.hasOwn(sent?.headers ?? {}, 'session_id'))

  const compacted = await fetch(`${gateway.url}/v1/responses/compact`, {
    method: 'POST',
    headers: { ...json, authorization },
    body: '{"model":"gpt-5-codex","input":[]}',
  })
  t.equal(compacted.status, 200)
  await compacted.arrayBuffer()
  const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization } })
  const { data } = (await models.json()) as { data: { id: string }[] }
  t.ok(data.some(({ id }) => id === 'gpt-5-codex'))
  await until(async () => (await gateway.charges()).length === 2)
  t.match(
    (await gateway.charges()).map(({ usage }) => usage),
    [
      { input: 9, output: 3 },
      { input: 4, output: 1 },
    ],
  )
})

await t.test('Gemini CLI: streaming and counting tokens work with the key in either header', async t => {
  const chunk = {
    candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
  }
  const gateway = await startTools(t, ({ url }, response) => {
    if (url.includes(':countTokens')) response.writeHead(200, json).end('{"totalTokens":5}')
    else
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify(chunk)}\r\n\r\n`)
  })
  const forms: Record<string, string>[] = [
    { 'x-goog-api-key': gateway.key },
    { authorization: `Bearer ${gateway.key}` },
  ]
  for (const form of forms) {
    const headers = {
      ...json,
      ...form,
      'user-agent': 'GeminiCLI/0.30.0 (linux; x64)',
      'x-gemini-api-privileged-user-id': 'u',
    }
    const model = `${gateway.url}/v1beta/models/gemini-2.5-pro`
    const body = '{"contents":[{"role":"user","parts":[{"text":"x"}]}]}'
    const streamed = await fetch(`${model}:streamGenerateContent?alt=sse`, { method: 'POST', headers, body })
    t.equal(await streamed.text(), `data: ${JSON.stringify(chunk)}\r\n\r\n`)
    const counted = await fetch(`${model}:countTokens`, { method: 'POST', headers, body })
    t.same(await counted.json(), { totalTokens: 5 })
  }
  for (const { headers } of gateway.seen) {
    t.equal(headers['x-goog-api-key'], 'provider-credential')
    t.equal(headers.authorization, undefined)
  }
  await until(async () => (await gateway.charges()).length === 2)
  t.match(
    (await gateway.charges()).map(({ usage }) => usage),
    [
      { input: 5, output: 2 },
      { input: 5, output: 2 },
    ],
  )
})
