import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import {
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
  type SeenRequest,
} from '../fixtures/raw-upstream.ts'
import { namesIn, openBodyFiles } from '../fixtures/spooled-files.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const memoryBytes = 100_000
const rubPerMillion = { input: '1', output: '1' }
const usage = '{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}'
const answer = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes"}}],"usage":${usage}}`
const json = ['content-type', 'application/json']

interface Started {
  readonly gateway: TestGateway
  readonly one: RawUpstream
  readonly other: RawUpstream
  readonly folder: string
}

async function start(t: Test, limits: ConfigSections = {}, streamUsage = 'as-sent'): Promise<Started> {
  const succeed = (): ReturnType<typeof plainAnswer> => plainAnswer(200, json, answer)
  const one = await startRawUpstream(t, succeed)
  const other = await startRawUpstream(t, succeed)
  const provider = (origin: string): object => ({
    credentials: ['key'],
    dialects: { openai: { baseUrl: `${origin}/v1` } },
    streamUsage,
    failover: { on: [503] },
  })
  const gateway = await startTestGateway(t, {
    config: {
      limits: { bodyMemoryBytes: memoryBytes, ...limits },
      providers: { one: provider(one.origin), other: provider(other.origin) },
      models: {
        m: { provider: ['one', 'other'], outputTokensMax: 10, rubPerMillion },
        alias: { alias: 'm' },
      },
    },
  })
  return { gateway, one, other, folder: `${gateway.storeFile}-bodies` }
}

/** A chat request of exactly this many bytes; `isModelLast` puts the model behind the text. */
function chatOf(bytes: number, { model = 'm', isModelLast = false, rest = '' } = {}): Buffer {
  const parts = [`"model":"${model}"`, `"messages":[{"role":"user","content":"T"}]${rest}`]
  const shortest = `{${(isModelLast ? parts.toReversed() : parts).join(',')}}`
  const text = randomBytes(bytes).toString('base64')
  return Buffer.from(shortest.replace('"T"', `"T${text.slice(0, bytes - shortest.length)}"`))
}

async function ask(
  { gateway }: Started,
  body: Buffer,
  headers: readonly string[] = [],
): Promise<ClientAnswer> {
  return await send(`${gateway.url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${gateway.key}`, ...json, ...headers],
    body,
  })
}

function lastBody({ requests }: RawUpstream): Buffer {
  return requests.at(-1)?.body ?? Buffer.alloc(0)
}

async function checkNothingLeft(t: Test, { folder, gateway }: Started): Promise<void> {
  await until(() => openBodyFiles(folder) === 0)
  t.same(namesIn(folder), [], 'no file is left')
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.same(await gateway.breaches(), [], 'the ledger is in order')
}

await t.test('bodies below, at and over the memory limit arrive byte for byte', async t => {
  const started = await start(t)
  for (const bytes of [60_000, memoryBytes - 1, memoryBytes, memoryBytes + 1, 300_000, 3_000_000]) {
    const body = chatOf(bytes)
    t.equal(body.length, bytes)
    const { status, requestId } = await ask(started, body)
    t.equal(status, 200)
    t.ok(lastBody(started.one).equals(body), `${bytes} bytes are the same`)
    t.match(await started.gateway.chargeOf(requestId), {
      outcome: 'completed',
      usage: { input: 5, output: 2 },
    })
  }
  await checkNothingLeft(t, started)
})

await t.test('a body in a file is sent again to the next provider', async t => {
  const started = await start(t)
  started.one.answer = () => plainAnswer(503, json, '{"error":{"message":"busy"}}')
  for (const bytes of [1000, 3_000_000]) {
    const body = chatOf(bytes)
    const { status } = await ask(started, body)
    t.equal(status, 200)
    t.ok(lastBody(started.one).equals(body), 'the first provider received it')
    t.ok(lastBody(started.other).equals(body), 'and the second')
  }
  await checkNothingLeft(t, started)
})

await t.test('a body in a file is spliced like one in memory', async t => {
  const started = await start(t, {}, 'inject')
  const rest = ',"stream":true'
  started.one.answer = () =>
    plainAnswer(
      200,
      ['content-type', 'text/event-stream'],
      `data: {"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`,
    )
  for (const bytes of [1000, 500_000]) {
    for (const isModelLast of [false, true]) {
      const body = chatOf(bytes, { model: 'alias', isModelLast, rest })
      t.equal((await ask(started, body)).status, 200)
      const expected = body
        .toString()
        .replace('"model":"alias"', '"model":"m"')
        .replace(rest, `${rest},"stream_options":{"include_usage":true}`)
      t.ok(lastBody(started.one).equals(Buffer.from(expected)), `${bytes} ${isModelLast}`)
    }
  }
  await checkNothingLeft(t, started)
})

await t.test('a compressed body in a file is forwarded unchanged, or decoded when it is spliced', async t => {
  const started = await start(t)
  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const plain = chatOf(1_000_000)
    const body = compress(plain)
    t.ok(body.length > memoryBytes, 'both forms are longer than the limit')
    t.equal((await ask(started, body, ['content-encoding', encoding])).status, 200)
    t.ok(lastBody(started.one).equals(body), `${encoding} is the same`)
    const aliased = chatOf(1_000_000, { model: 'alias' })
    t.equal((await ask(started, compress(aliased), ['content-encoding', encoding])).status, 200)
    const decoded = aliased.toString().replace('"alias"', '"m"')
    t.ok(lastBody(started.one).equals(Buffer.from(decoded)), `${encoding} is decoded`)
    t.notOk(started.one.requests.at(-1)?.headers.includes('content-encoding'))
  }
  await checkNothingLeft(t, started)
})

await t.test('a decompression bomb and a body that cannot be decoded are refused', async t => {
  const started = await start(t, { bodyBytesMax: '8MB' })
  const bomb = gzipSync(Buffer.alloc(64_000_000, 0x20))
  const far = await ask(started, bomb, ['content-encoding', 'gzip'])
  t.match(far, { status: 413, body: /body_too_large/ })
  const long = await ask(started, gzipSync(chatOf(9_000_000)), ['content-encoding', 'gzip'])
  t.match(long, { status: 413, body: /body_too_large/ })
  const whole = gzipSync(chatOf(500_000))
  const cut = await ask(started, whole.subarray(0, -9), ['content-encoding', 'gzip'])
  t.match(cut, { status: 400, body: /not valid gzip/ })
  const other = await ask(started, whole, ['content-encoding', 'zstd'])
  t.match(other, { status: 400, body: /not valid zstd/ })
  const unknown = await ask(started, whole, ['content-encoding', 'lzma'])
  t.match(unknown, { status: 400, body: /content-encoding/ })
  t.equal(started.one.requests.length, 0, 'nothing was sent')
  await checkNothingLeft(t, started)
})

await t.test('an invalid long body is refused like a short one', async t => {
  const started = await start(t)
  const good = chatOf(2_000_000)
  const wrong = Buffer.from(good)
  wrong[1_500_000] = 0x01
  t.match(await ask(started, wrong), { status: 400, body: /control character/ })
  t.match(await ask(started, good.subarray(0, -2)), { status: 400, body: /too early/ })
  const twice = chatOf(2_000_000, { rest: ',"model":"m"' })
  t.match(await ask(started, twice), { status: 400, body: /field_ambiguous/ })
  t.match(await ask(started, Buffer.from(`[${' '.repeat(200_000)}]`)), { status: 400, body: /JSON object/ })
  t.equal(started.one.requests.length, 0, 'nothing was sent')
  await checkNothingLeft(t, started)
})

await t.test('a request beyond the total of all bodies is refused with a retry-after', async t => {
  const started = await start(t, { bodyBytesTotalMax: '3MB' })
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => (release = resolve))
  started.one.answer = async (_request: SeenRequest) => {
    await released
    return plainAnswer(200, json, answer)
  }
  const first = ask(started, chatOf(2_000_000))
  await until(() => started.one.requests.length === 1)
  const refused = await ask(started, chatOf(2_000_000))
  t.match(refused, { status: 503, body: /overloaded|as many request bodies/ })
  t.ok(Number(refused.headers['retry-after']) >= 1, 'with the time to wait')
  const short = ask(started, chatOf(1000))
  await until(() => started.one.requests.length === 2)
  release()
  t.equal((await first).status, 200)
  t.equal((await short).status, 200, 'short bodies are still accepted')
  t.equal((await ask(started, chatOf(2_000_000))).status, 200, 'and the bytes are released')
  await checkNothingLeft(t, started)
})

await t.test('what is found in bodies counts as they do, until they are over', async t => {
  const { gateway, one } = await start(t, { bodyBytesTotalMax: 2_000_000, bodyBytesMax: 1_000_000 })
  const ask = (images: number): Promise<ClientAnswer> => {
    const content = Array.from({ length: images }, () => ({ image_url: 'https://a/1' }))
    return send(`${gateway.url}/v1/chat/completions`, {
      headers: ['authorization', `Bearer ${gateway.key}`, ...json],
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
    })
  }
  for (let count = 0; count < 3; count += 1) {
    const refused = await ask(5000)
    t.equal(refused.status, 503)
    t.ok(refused.headers['retry-after'])
    t.match(refused.body.toString(), 'The gateway holds as many')
    t.equal((await ask(1000)).status, 200, 'all of it was released')
  }
  t.equal(one.requests.length, 3)
})
