import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw, parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const body = openai.body(false)

async function start(
  t: Test,
  sections: ConfigSections = {},
): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { onClientLeft: 'abort' }, sections),
  })
  return { upstream, gateway }
}

/** A request head with these lines between the key and the blank line. */
function post(gateway: TestGateway, lines: readonly string[], content = ''): string {
  const head = ['POST /v1/chat/completions HTTP/1.1', `authorization: Bearer ${gateway.key}`, ...lines]
  return `${head.join('\r\n')}\r\n\r\n${content}`
}

await t.test('requests that two servers could read differently are refused and not forwarded', async t => {
  const { upstream, gateway } = await start(t)
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const length = `content-length: ${body.length}`
  const smuggled = post(gateway, ['host: g', length], body)
  const cases: Record<string, string> = {
    'two Hosts': post(gateway, ['host: a', 'host: b', `content-length: ${body.length}`], body),
    'two equal Hosts': post(gateway, ['host: a', 'Host: a', `content-length: ${body.length}`], body),
    'no Host': post(gateway, [`content-length: ${body.length}`], body),
    'an invalid Host': post(gateway, ['host: a, b', length], body),
    'a Host with a user': post(gateway, ['host: a@b', length], body),
    'HTTP/2.0 in the form of HTTP/1': post(gateway, ['host: a', length], body).replace('1.1', '2.0'),
    'two lengths': post(gateway, ['host: a', `content-length: ${body.length}`, 'content-length: 0'], body),
    'two equal lengths': post(
      gateway,
      ['host: a', `content-length: ${body.length}`, `Content-Length: ${body.length}`],
      body,
    ),
    'a list of lengths': post(gateway, ['host: a', `content-length: ${body.length}, ${body.length}`], body),
    'a signed length': post(gateway, ['host: a', `content-length: +${body.length}`], body),
    'a negative length': post(gateway, ['host: a', 'content-length: -1'], body),
    'a length and a coding': post(
      gateway,
      ['host: a', 'content-length: 5', 'transfer-encoding: chunked'],
      chunk,
    ),
    'a coding and a length': post(
      gateway,
      ['host: a', 'transfer-encoding: chunked', 'content-length: 5'],
      chunk,
    ),
    'two codings': post(
      gateway,
      ['host: a', 'transfer-encoding: chunked', 'transfer-encoding: chunked'],
      chunk,
    ),
    'an odd coding': post(gateway, ['host: a', 'transfer-encoding: xchunked'], chunk),
    'a list of codings': post(gateway, ['host: a', 'transfer-encoding: identity, chunked'], chunk),
    'gzip on top of chunked': post(gateway, ['host: a', 'transfer-encoding: gzip, chunked'], chunk),
    'a coding in HTTP/1.0': post(
      gateway,
      ['host: a', 'connection: keep-alive', 'transfer-encoding: chunked'],
      chunk,
    ).replace('HTTP/1.1', 'HTTP/1.0'),
    'two Content-Types': post(
      gateway,
      ['host: a', 'content-type: application/json', 'Content-Type: text/plain', length],
      body,
    ),
    'two upload commands': post(
      gateway,
      ['host: a', 'x-goog-upload-command: query', 'x-goog-upload-command: upload', length],
      body,
    ),
    'a Content-Type of this hop': post(
      gateway,
      ['host: a', 'content-type: application/json', 'connection: close, Content-Type', length],
      body,
    ),
    'a coding of this hop': post(
      gateway,
      ['host: a', 'content-encoding: identity', 'connection: content-encoding', length],
      body,
    ),
    'a blank before the colon': post(gateway, ['host: a', 'transfer-encoding : chunked'], chunk),
    'a tab in the coding': post(gateway, ['host: a', 'transfer-encoding: \tchunked\u000b'], chunk),
    'a folded line': post(gateway, ['host: a', 'x-a: 1', ' transfer-encoding: chunked', 'content-length: 0']),
    'a bare line feed': post(gateway, ['host: a', 'x-a: 1\ntransfer-encoding: chunked', 'content-length: 0']),
    'a bare carriage return': post(gateway, ['host: a', 'x-a: 1\rx-b: 2', 'content-length: 0']),
    'a NUL in a value': post(gateway, ['host: a', 'x-a: 1\0 2', 'content-length: 0']),
    'a NUL in a name': post(gateway, ['host: a', 'x\0a: 1', 'content-length: 0']),
    'an invalid chunk size': post(
      gateway,
      ['host: a', 'transfer-encoding: chunked'],
      `zz\r\n${body}\r\n0\r\n\r\n`,
    ),
    'a chunk longer than it says': post(
      gateway,
      ['host: a', 'transfer-encoding: chunked'],
      `2\r\n${body}\r\n0\r\n\r\n`,
    ),
    'a line feed alone after a chunk size': post(
      gateway,
      ['host: a', 'transfer-encoding: chunked'],
      `2\n{}\r\n0\r\n\r\n`,
    ),
    'HTTP/0.9': 'GET /v1/models\r\n\r\n',
    'HTTP/2 in plain text': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  }
  for (const [name, bytes] of Object.entries(cases)) {
    await t.test(name, async t => {
      // The bytes after it must not be read as a second request.
      const result = await sendRaw(t, gateway.url, Buffer.from(bytes + smuggled, 'latin1'))
      const [answer, ...more] = parseAnswers(result.bytes)
      t.equal(answer?.status, 400, result.bytes.toString())
      t.equal(more.length, 0, 'the connection is closed')
      t.match(answer?.body.toString(), /^\{"error":\{"message":"/)
      t.equal(answer?.headers.get('connection'), 'close')
      t.equal(upstream.requests.length, 0, 'nothing reached the provider')
    })
  }
  t.same(await gateway.charges(), [])
})

await t.test('a body on a method that has none is refused, with any framing', async t => {
  const { upstream, gateway } = await start(t)
  const hidden = post(gateway, ['host: g', `content-length: ${body.length}`], body)
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
    for (const framing of [`content-length: ${hidden.length}`, 'transfer-encoding: chunked']) {
      await t.test(`${method} with ${framing.split(':')[0]}`, async t => {
        const content = framing.startsWith('t')
          ? `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
          : hidden
        const head = `${method} /v1/responses/resp_1 HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n`
        const client = await connectRaw(t, gateway.url)
        client.socket.write(`${head}${framing}\r\n\r\n${content}`)
        await client.waitFor('\r\n\r\n')
        client.socket.end()
        await client.ended
        t.match(client.received().toString(), /^HTTP\/1\.1 400 /)
        t.equal(upstream.requests.length, 0)
      })
    }
  }
})

await t.test(
  'a head that is too long is refused with 431, and a slightly shorter one is accepted',
  async t => {
    const { upstream, gateway } = await start(t)

    const long = await sendRaw(t, gateway.url, post(gateway, ['host: g', `x-long: ${'a'.repeat(16_384)}`]))
    t.match(long.bytes.toString(), /^HTTP\/1\.1 431 /)
    t.equal(upstream.requests.length, 0)

    const fits = [
      'host: g',
      `x-long: ${'a'.repeat(15_000)}`,
      'connection: close',
      `content-length: ${body.length}`,
    ]
    const [answer] = parseAnswers((await sendRaw(t, gateway.url, post(gateway, fits, body))).bytes)
    t.equal(answer?.status, 200)
  },
)

await t.test('slow headers and a slow body are refused with 408', async t => {
  const { upstream, gateway } = await start(t, { limits: { headersMs: 300, bodyMs: 300 } })

  const [head, content] = await Promise.all([
    sendRaw(t, gateway.url, 'POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nx-slow: '),
    sendRaw(t, gateway.url, post(gateway, ['host: g', 'content-length: 1000'], '{"model"')),
  ])

  t.match(head.bytes.toString(), /^HTTP\/1\.1 408 .*request_timeout/s)
  t.match(content.bytes.toString(), /^HTTP\/1\.1 408 .*request_timeout/s)
  t.equal(upstream.requests.length, 0)
  t.match(await settled(gateway, 1), [{ outcome: /aborted|refused/ }])
  await checkMoney(t, gateway)
})

await t.test(
  'pipelined requests receive their responses in order, and each valid one is charged once',
  async t => {
    const { upstream, gateway } = await start(t)
    const good = post(gateway, ['host: g', `content-length: ${body.length}`], body)
    const unknown = post(gateway, ['host: g', 'content-length: 2'], '{}')
    const other = 'GET /v1/nothing HTTP/1.1\r\nhost: g\r\n\r\n'
    const models = `GET /v1/models HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`
    const kinds = [good, unknown, good, other, models, good]
    const requests = Array.from({ length: 48 }, (_, n) => kinds[n % kinds.length]!)
    const client = await connectRaw(t, gateway.url)

    client.socket.write(requests.join(''))
    await until(() => parseAnswers(client.received()).length === requests.length)

    const statuses = [200, 400, 200, 404, 200, 200]
    const answers = parseAnswers(client.received())
    t.same(
      answers.map(answer => answer.status),
      requests.map((_, n) => statuses[n % statuses.length]),
    )
    t.ok(answers.every(answer => answer.isWhole))
    await settled(gateway, requests.length)
    const charges = await gateway.charges()
    t.equal(charges.length, 24)
    t.equal(new Set(charges.map(charge => charge.requestId)).size, 24)
    t.equal(upstream.requests.length, 24)
    await checkMoney(t, gateway)
  },
)

await t.test('a connection stays usable after an error', async t => {
  const { gateway } = await start(t)
  const client = await connectRaw(t, gateway.url)
  const refused = `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer gw-wrong\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  for (const [count, request] of [
    refused,
    post(gateway, ['host: g', `content-length: ${body.length}`], body),
    post(gateway, ['host: g', 'content-length: 1'], '{'),
    post(gateway, ['host: g', `content-length: ${body.length}`], body),
  ].entries()) {
    client.socket.write(request)
    await until(() => parseAnswers(client.received()).filter(answer => answer.isWhole).length === count + 1)
  }

  t.same(
    parseAnswers(client.received()).map(answer => answer.status),
    [401, 200, 400, 200],
  )
})

await t.test('a malformed request behind a running response receives 400 after it', async t => {
  const { upstream, gateway } = await start(t)
  const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
  const [first, ...more] = chunked(openai.events.map(event => Buffer.from(event)))
  let goOn: () => void = () => undefined
  const goesOn = new Promise<void>(resolve => (goOn = resolve))
  upstream.answer = () => ({ pieces: [head, first as Buffer], before: () => goesOn })
  const client = await connectRaw(t, gateway.url)
  client.socket.write(post(gateway, ['host: g', `content-length: ${body.length}`], body))
  await client.waitFor('Once')

  // More of it changes nothing.
  for (let count = 0; count < 20; count += 1) {
    client.socket.write('this is not HTTP\r\n\r\n')
    await delay(1)
  }
  const [socket] = upstream.openSockets
  goOn()
  for (const piece of more) socket?.write(piece)
  await client.ended

  const answers = parseAnswers(client.received())
  t.same(
    answers.map(({ status }) => status),
    [200, 400],
  )
  t.equal(answers[0]?.body.toString(), openai.events.join(''))
  t.equal(answers[0]?.isWhole, true)
  t.match(await settled(gateway, 1), [{ outcome: 'completed' }])
  await checkMoney(t, gateway)
})

await t.test('a client that disconnects after a malformed request aborts its running exchange', async t => {
  for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
    await t.test(leave, async t => {
      const { upstream, gateway } = await start(t)
      const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
      upstream.answer = () => ({ pieces: [head, chunked([Buffer.from(openai.events[0]!)])[0]!] })
      const client = await connectRaw(t, gateway.url)
      client.socket.write(post(gateway, ['host: g', `content-length: ${body.length}`], body))
      await client.waitFor('Once')

      client.socket.write('this is not HTTP\r\n\r\n')
      await delay(20)
      client.socket[leave]()

      t.match(await settled(gateway, 1), [{ outcome: 'aborted' }])
      await checkMoney(t, gateway)
    })
  }
})
