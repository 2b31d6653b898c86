import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }
const pieces = chunked(openai.events.map(event => Buffer.from(event)))
const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

function requestBytes(gateway: TestGateway, isStreaming: boolean, version = '1.1'): string {
  const body = openai.body(isStreaming)
  return (
    `POST /v1/chat/completions HTTP/${version}\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

/** A gateway whose provider begins every stream, and ends it when `end` is called. */
async function start(t: Test) {
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? { pieces: [head, ...pieces.slice(0, 2)], before: () => mayEnd.then(() => undefined), then: 'end' }
      : plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
  return { upstream, gateway, end }
}

async function ready(gateway: TestGateway): Promise<number> {
  return (await fetch(`${gateway.gateway.adminUrl}/readyz`)).status
}

async function openStream(t: Test, gateway: TestGateway, version?: string): Promise<RawClient> {
  const client = await connectRaw(t, gateway.url)
  client.socket.write(requestBytes(gateway, true, version))
  await client.waitFor('upon a time')
  return client
}

await t.test(
  'a drain fails readiness at once, and still accepts requests until its wait is over',
  async t => {
    const { gateway } = await start(t)
    const idle = await connectRaw(t, gateway.url)
    const early = await connectRaw(t, gateway.url)
    const unused = await connectRaw(t, gateway.url)
    early.socket.write(requestBytes(gateway, false))
    await early.waitFor('Once')
    t.equal(await ready(gateway), 200)

    const closed = gateway.gateway.close(5000, 60_000)

    t.equal(await ready(gateway), 503)
    t.equal((await fetch(`${gateway.gateway.adminUrl}/healthz`)).status, 200)
    early.socket.write(requestBytes(gateway, false))
    const fresh = await send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: openai.body(false),
    })
    t.match(fresh, { status: 200, isWhole: true, headers: { connection: 'close' } })
    t.equal(await early.ended, 'end')
    const [first, second] = parseAnswers(early.received())
    t.match([first?.status, first?.headers.get('connection')], [200, 'keep-alive'])
    t.match([second?.status, second?.headers.get('connection')], [200, 'close'])
    t.equal(second?.body.toString(), openai.document)

    // A second call shortens the wait.
    await gateway.gateway.close(5000, 0)
    await closed
    t.equal(idle.received().length + unused.received().length, 0, 'nothing is sent to idle connections')
    await Promise.all([idle.ended, unused.ended])
    await t.rejects(connectRaw(t, gateway.url), { code: 'ECONNREFUSED' })
    t.equal((await gateway.charges()).length, 3)
    await checkMoney(t, gateway)
  },
)

await t.test(
  'shortly before its wait is over a drain accepts no new connections, and serves the open ones',
  async t => {
    const { gateway } = await start(t)
    const connected = await connectRaw(t, gateway.url)
    const closed = gateway.gateway.close(5000, 700)
    await until(() =>
      connectRaw(t, gateway.url).then(
        () => false,
        () => true,
      ),
    )

    connected.socket.write(requestBytes(gateway, false))
    await connected.ended
    await closed

    const [answer] = parseAnswers(connected.received())
    t.match([answer?.status, answer?.headers.get('connection')], [200, 'close'])
    t.equal(answer?.body.toString(), openai.document)
    t.equal((await gateway.charges()).length, 1)
    await checkMoney(t, gateway)
  },
)

await t.test('a request after the wait is refused with 503 and a retry-after', async t => {
  const { upstream, gateway, end } = await start(t)
  const stream = await openStream(t, gateway)
  const closed = gateway.gateway.close(5000, 0)
  await until(async () => (await ready(gateway)) === 503)
  await new Promise(resolve => setTimeout(resolve, 50))

  // On the connection of the stream, whose head was sent before the drain and so without `connection: close`.
  stream.socket.write(requestBytes(gateway, false))
  await until(() => exchangeEnds(gateway).length === 1)
  for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
  await closed
  await stream.ended
  end()

  const [first, second] = parseAnswers(stream.received())
  t.equal(first?.body.toString(), openai.events.join(''))
  t.ok(first?.isWhole)
  t.equal(second?.status, 503)
  t.match(second?.body.toString(), /"code":"overloaded"/)
  t.ok(Number(second?.headers.get('retry-after')) > 0)
  t.equal(second?.headers.get('connection'), 'close')
  t.equal(upstream.requests.length, 1)
  t.equal((await gateway.charges()).length, 1)
  await checkMoney(t, gateway)
})

await t.test('fault 51: five hundred streams complete during a drain', async t => {
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const upstream = await startRawUpstream(t, () => ({
    pieces: [head, ...pieces.slice(0, 2)],
    before: () => mayEnd,
    then: 'end',
  }))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin }) })
  const answers = Array.from({ length: 500 }, async () => {
    const request = httpRequest(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}` },
      agent: false,
    })
    request.end(openai.body(true))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { text: Buffer.concat(chunks).toString(), isWhole: response.complete }
  })
  await until(() => upstream.requests.length === 500)
  const whole = Buffer.concat(pieces.slice(2))

  const closed = gateway.gateway.close(60_000, 100)
  await new Promise(resolve => setTimeout(resolve, 200))
  for (const socket of upstream.openSockets) socket.write(whole)
  const all = await Promise.all(answers)
  await closed
  end()

  t.equal(all.filter(answer => answer.isWhole && answer.text === openai.events.join('')).length, 500)
  const ends = exchangeEnds(gateway)
  t.equal(ends.filter(one => one.outcome === 'completed').length, 500)
  t.equal((await gateway.charges()).length, 500)
  await checkMoney(t, gateway)
})

await t.test(
  'at the deadline streams are cut without a clean end, and charged for what was delivered',
  async t => {
    const { gateway } = await start(t)
    const [stream, old] = [await openStream(t, gateway), await openStream(t, gateway, '1.0')]
    const slow = await connectRaw(t, gateway.url)
    slow.socket.write(requestBytes(gateway, false).slice(0, -5))
    await new Promise(resolve => setTimeout(resolve, 50))
    const begun = performance.now()

    await gateway.gateway.close(200)

    // Without the deadline the drain would wait ten minutes.
    t.ok(performance.now() - begun < 30_000, 'it ends at the deadline')
    t.equal(await stream.ended, 'reset')
    t.equal(
      await old.ended,
      'reset',
      'a response that ends by closing is reset, so that it does not look complete',
    )
    const [answer] = parseAnswers(stream.received())
    t.equal(answer?.isWhole, false)
    t.ok(
      answer?.body.toString().startsWith(openai.events.slice(0, 2).join('')),
      'the relayed part is unchanged',
    )
    t.match(answer?.body.toString(), /The gateway was shut down/, 'and the body says why')
    await slow.ended
    const ends = await settled(gateway, 3)
    t.same(ends.map(one => one.outcome).toSorted(), ['aborted', 'broken', 'broken'])
    const charges = await gateway.charges()
    t.match(charges, [
      { outcome: 'broken', usageSource: 'estimated' },
      { outcome: 'broken', usageSource: 'estimated' },
    ])
    t.ok(charges.every(charge => Number(charge.amount) > 0))
    await checkMoney(t, gateway)
  },
)

await t.test('a request without a response at the deadline is refused and flagged as ambiguous', async t => {
  const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
  const answered = send(`${gateway.url}/v1/chat/completions`, {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(false),
  })
  await until(() => upstream.requests.length === 1)

  await gateway.gateway.close(100)

  const refused = await answered
  t.match(refused, { status: 502, isWhole: true, headers: { 'x-should-retry': 'false' } })
  t.match(await settled(gateway, 1), [{ outcome: 'refused', code: 'upstream_failed' }])
  t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
  await checkMoney(t, gateway)
})

await t.test('a second call shortens a drain', async t => {
  const { gateway } = await start(t)
  const stream = await openStream(t, gateway)
  const begun = performance.now()
  const first = gateway.gateway.close(60_000, 60_000)
  await until(async () => (await ready(gateway)) === 503)

  await gateway.gateway.close(100)
  await first

  t.ok(performance.now() - begun < 30_000)
  t.equal(await stream.ended, 'reset')
  t.match(await gateway.charges(), [{ outcome: 'broken' }])
  await checkMoney(t, gateway)
})
