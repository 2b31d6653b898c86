import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { send, type ClientRequest } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const [openai, anthropic] = dialectCalls as readonly [DialectCall, DialectCall]
const example = (name: string): string => join(import.meta.dirname, '../../examples', `${name}.ts`)
const blockSwordfish = { [example('block-words')]: { words: ['Swordfish'] } }

/** A provider that responds in the dialect, and a gateway before it with external plugins. */
async function startWith(t: Test, plugins: readonly unknown[], call: DialectCall = openai) {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], call.document),
  )
  const list = ['auth', 'model-router', ...plugins, 'size-limit', 'upstream-proxy', 'usage-tap']
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { plugins: list }) })
  const ask = (options: ClientRequest = {}) =>
    send(gateway.url + call.path(false), {
      headers: [...call.keyHeader(gateway.key), ...(options.headers ?? ['content-type', 'application/json'])],
      body: options.body ?? call.body(false),
    })
  return { upstream, gateway, ask }
}

async function nothingCharged(t: Test, gateway: TestGateway): Promise<void> {
  t.same(await gateway.charges(), [])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
}

for (const call of dialectCalls) {
  await t.test(`${call.name}: a plugin refuses with its own error, in the dialect's shape`, async t => {
    const { upstream, gateway, ask } = await startWith(t, [blockSwordfish], call)

    const refused = await ask({ body: call.body(false).replace('short', 'SWORDFISH') })
    const passed = await ask()

    t.equal(refused.status, 403)
    t.match(refused.body.toString(), call.errorBody)
    t.match(refused.body.toString(), 'The word \\"swordfish\\" is not allowed here.')
    if (call.name !== 'anthropic') t.match(refused.body.toString(), 'word_blocked')
    t.equal(refused.headers['x-should-retry'], 'false')
    t.equal(passed.body.toString(), call.document)
    t.equal(upstream.requests.length, 1)
    t.equal((await gateway.charges()).length, 1)
  })
}

await t.test('no size, escape, encoding or place hides a word from a plugin that reads the text', async t => {
  const { upstream, gateway, ask } = await startWith(t, [blockSwordfish])
  const json = (content: unknown): string =>
    JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content }] })
  const long = 'a sentence of no interest. '.repeat(120_000)
  const escaped = json('WORD').replace(
    'WORD',
    [...'swordfish'].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  )
  const form = [
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ntest-model\r\n',
    '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na swordfish\r\n--b--\r\n',
  ].join('')
  const cases: Readonly<Record<string, ClientRequest>> = {
    plain: { body: json('a swordfish') },
    'behind three megabytes': { body: json(`${long}swordfish`) },
    'cut by the end of a piece': { body: json(`${'a'.repeat(65_470)}swordfish`) },
    escaped: { body: escaped },
    'behind backslashes': { body: json(`${'\\'.repeat(70_001)}swordfish`) },
    gzip: {
      body: gzipSync(json('a swordfish')),
      headers: ['content-type', 'application/json', 'content-encoding', 'gzip'],
    },
    zstd: {
      body: zstdCompressSync(json(`${long}swordfish`)),
      headers: ['content-type', 'application/json', 'content-encoding', 'zstd'],
    },
    'in a member': {
      body: JSON.stringify({ model: 'test-model', messages: [], metadata: { swordfish: 'a' } }),
    },
  }

  for (const [name, request] of Object.entries(cases)) t.equal((await ask(request)).status, 403, name)
  const transcription = await send(`${gateway.url}/v1/images/edits`, {
    headers: [...openai.keyHeader(gateway.key), 'content-type', 'multipart/form-data; boundary=b'],
    body: form,
  })

  t.equal(transcription.status, 403, 'in a form')
  t.equal(upstream.requests.length, 0)
  await nothingCharged(t, gateway)
})

await t.test('a plugin reads text documents in base64 and streamed files', async t => {
  const { upstream, gateway } = await startWith(t, [blockSwordfish], anthropic)
  const data = Buffer.from(`${'a '.repeat(70_000)}swordfish`).toString('base64')
  const source = { type: 'base64', media_type: 'text/plain', data }
  const document = await send(gateway.url + anthropic.path(false), {
    headers: [...anthropic.keyHeader(gateway.key), 'content-type', 'application/json'],
    body: JSON.stringify({
      model: 'test-model',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'document', source }] }],
    }),
  })
  const lines =
    `${JSON.stringify({ custom_id: 'a', body: { input: 'a swordf\u0131sh or a sw\\u006frdfish' } })}\n`.replaceAll(
      '\\\\u',
      '\\u',
    )
  const file = await send(`${gateway.url}/v1/files`, {
    headers: [...openai.keyHeader(gateway.key), 'content-type', 'multipart/form-data; boundary=b'],
    body: `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${lines}\r\n--b--\r\n`,
  })

  t.equal(document.status, 403)
  t.equal(file.status, 403)
  t.notOk(
    upstream.received.some(bytes => bytes.includes('frdfish')),
    'the word did not reach the provider',
  )
  await nothingCharged(t, gateway)
})

await t.test('a plugin cuts a stream, and the client receives its reason', async t => {
  for (const call of dialectCalls) {
    const { upstream, gateway } = await startWith(
      t,
      [{ [example('block-words')]: { words: ['upon'] } }],
      call,
    )
    upstream.answer = async () => {
      // A response that arrives before the hold is on the disk waits for it, and is then refused as a whole.
      await until(async () => (await gateway.balance()).heldMicros > 0)
      return {
        pieces: [
          headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
          ...chunked(call.events.map(event => Buffer.from(event))),
        ],
      }
    }

    const answer = await send(gateway.url + call.path(true), {
      headers: [...call.keyHeader(gateway.key), 'content-type', 'application/json'],
      body: call.body(true),
    })

    t.notOk(answer.isWhole, call.name)
    t.match(answer.body.toString(), 'The response held a word that is not allowed here.', call.name)
    t.ok(answer.body.toString().startsWith(call.events[0] as string), call.name)
    t.match(await gateway.chargeOf(answer.requestId), { outcome: 'broken' }, call.name)
  }
})

await t.test(
  'a plugin adds headers to request and response, and replaces one that the client forged',
  async t => {
    const { upstream, gateway, ask } = await startWith(t, [example('response-header')])

    const answer = await ask({ headers: ['content-type', 'application/json', 'X-Tenant', 'forged'] })

    t.equal(answer.headers['x-served-by'], 'openai/test-model')
    const [seen] = upstream.requests
    const tenants = seen?.headers.filter(
      (_, index, all) => index % 2 === 1 && /^x-tenant$/i.test(all[index - 1] as string),
    )
    t.same(tenants, [gateway.accountId])
    t.equal(answer.body.toString(), openai.document)
  },
)

await t.test('a plugin posts each charge once, signed, and retries while the receiver fails', async t => {
  const received: { body: string; signature: unknown }[] = []
  let failures = 2
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.statusCode = failures-- > 0 ? 503 : 204
      if (response.statusCode === 204)
        received.push({ body: Buffer.concat(chunks).toString(), signature: request.headers['x-signature'] })
      response.end()
    })
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void receiver.close())
  const { port } = receiver.address() as AddressInfo
  const secret = 'a secret of the receiver'
  const options = { url: `http://127.0.0.1:${port}/`, secret, retryMs: 5 }
  const { gateway, ask } = await startWith(t, [{ [example('charge-webhook')]: options }])

  const answer = await ask()
  await until(() => received.length === 1)

  const [{ body, signature } = { body: '', signature: '' }] = received
  t.equal(signature, createHmac('sha256', secret).update(body).digest('hex'))
  const charge = await gateway.chargeOf(answer.requestId)
  t.match(JSON.parse(body), {
    requestId: answer.requestId,
    accountId: gateway.accountId,
    keyId: gateway.keyId,
    usage: openai.usage,
    amountMicros: Math.round(Number(charge?.amount) * 1_000_000),
  })
  t.notOk(gateway.logLines.some(line => line.includes(secret) || line.includes(providerCredential)))
})
