import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]

function ask(gateway: TestGateway, call: DialectCall, isStreaming = false): Promise<ClientAnswer> {
  return send(gateway.url + call.path(isStreaming), {
    headers: call.keyHeader(gateway.key),
    body: call.body(isStreaming),
  })
}

/** An origin on this machine where no server listens. */
async function closedPort(): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

const failures: Readonly<Record<string, RawAnswer>> = {
  'resets the connection': { pieces: [], then: 'reset' },
  'closes the connection': { pieces: [], then: 'end' },
  'sends something that is not HTTP': { pieces: [Buffer.from('SSH-2.0-OpenSSH\r\n\r\n')], then: 'end' },
  'closes the connection inside its head': {
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-le')],
    then: 'end',
  },
  'sends a length and a coding': {
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}')],
  },
  'sends two lengths': {
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')],
  },
  'sends a NUL in a header': {
    pieces: [Buffer.from('HTTP/1.1 200 OK\r\nx-a: \0\r\ncontent-length: 2\r\n\r\n{}')],
  },
  'sends 100 KB of headers': {
    pieces: [headLines(200, ['x-long', 'a'.repeat(100_000), 'content-length', '2']), Buffer.from('{}')],
  },
}

for (const call of dialectCalls) {
  await t.test(
    `${call.name}: a provider that fails before its response is 502, flagged, and not retried`,
    async t => {
      let next: RawAnswer = { pieces: [] }
      const upstream = await startRawUpstream(t, () => next)
      const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
      let count = 0
      for (const [name, answer] of Object.entries(failures)) {
        next = answer
        const refused = await ask(gateway, call)
        t.equal(refused.status, 502, name)
        t.equal(refused.headers['x-should-retry'], 'false', 'a request that was sent must not be repeated')
        t.equal(refused.headers['x-request-id'], refused.requestId)
        t.match(refused.body.toString(), call.errorBody)
        t.match((await settled(gateway, ++count)).at(-1), { outcome: 'refused', code: 'upstream_failed' })
        t.match(
          await gateway.chargeOf(refused.requestId),
          { outcome: 'refused', amount: '0.000000', flags: ['ambiguous'] },
          'listed and charged nothing',
        )
        t.equal(upstream.requests.length, count, 'and it was not repeated')
      }
      next = plainAnswer(200, [], call.document)
      t.equal((await ask(gateway, call)).status, 200, 'the next request is not affected')
      await settled(gateway, count + 1)
      await checkMoney(t, gateway)
    },
  )
}

await t.test('an unreachable provider is 502, may be retried, and costs nothing', async t => {
  const gateway = await startTestGateway(t, { config: callConfig(await closedPort()) })

  const refused = await ask(gateway, openai)

  t.match(refused, { status: 502, headers: { 'x-should-retry': 'true' } })
  t.match(await settled(gateway, 1), [{ outcome: 'refused', code: 'upstream_unreachable' }])
  t.equal(await gateway.chargeOf(refused.requestId), undefined)
  await checkMoney(t, gateway)
})

await t.test(
  'a silent provider is 504 before its response, and cuts the stream in the middle of it',
  async t => {
    let next: RawAnswer = { pieces: [] }
    const upstream = await startRawUpstream(t, () => next)
    const timeouts = { firstByteMs: 100, silenceMs: 100 }
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, { timeouts }) })

    const before = await ask(gateway, openai)
    t.equal(before.status, 504)
    t.match(await settled(gateway, 1), [{ outcome: 'refused', code: 'upstream_timeout' }])

    next = {
      pieces: [
        headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
        chunked([Buffer.from(openai.events[0]!)])[0]!,
      ],
    }
    const inside = await ask(gateway, openai, true)
    t.notOk(inside.isWhole)
    t.match(inside.body.toString().slice(openai.events[0]!.length), openai.errorEvent)
    t.match((await settled(gateway, 2)).at(-1), { outcome: 'broken', code: 'upstream_timeout' })
    await checkMoney(t, gateway)
  },
)

await t.test('a redirect is relayed and not followed', async t => {
  const other = await startRawUpstream(t, () => plainAnswer(200, [], '{}'))
  const upstream = await startRawUpstream(t, () => plainAnswer(307, ['location', `${other.origin}/v1`], ''))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

  t.equal((await ask(gateway, openai)).status, 307)
  t.equal(other.received.length, 0)
})

await t.test('a second response to one request is not relayed to any client', async t => {
  const forged = plainAnswer(200, [], '{"forged":true}')
  const upstream = await startRawUpstream(t, () => {
    const own = plainAnswer(200, ['content-type', 'application/json'], openai.document)
    return { pieces: [Buffer.concat([...own.pieces, ...forged.pieces])] }
  })
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

  for (let turn = 0; turn < 5; turn += 1) {
    const answer = await ask(gateway, openai)
    t.equal(answer.body.toString(), openai.document)
  }
  await settled(gateway, 5)
  t.equal((await gateway.charges()).length, 5)
  await checkMoney(t, gateway)
})
