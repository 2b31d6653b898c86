import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw, parseAnswers, type ParsedAnswer } from '../fixtures/raw-client.ts'
import { chunked, headLines, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// Informational responses (RFC 9110 section 15.2), which come before the final response.

let answer: () => RawAnswer | Promise<RawAnswer> = () => ({ pieces: [] })
const upstream = await startRawUpstream(t, () => answer())
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
let exchangeCount = 0

const hints = headLines(103, [
  'Link',
  '</style.css>; rel=preload',
  'set-cookie',
  'a=b',
  'x-accel-redirect',
  '/internal',
  'X-Other',
  'caf\u00e9',
])
const working = headLines(102, [])

for (const call of dialectCalls) {
  for (const isStreaming of [false, true]) {
    const body = call.body(isStreaming)
    const [name, value] = call.keyHeader(gateway.key)
    const request = (version: string): string =>
      `POST ${call.path(isStreaming)} HTTP/${version}\r\nhost: gateway\r\n${name}: ${value}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    const pieces = isStreaming
      ? [
          headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
          ...chunked(call.events.map(event => Buffer.from(event))),
        ]
      : [
          headLines(200, ['content-length', String(Buffer.byteLength(call.document))]),
          Buffer.from(call.document),
        ]
    const whole = isStreaming ? call.events.join('') : call.document

    await t.test(
      `${call.name}${isStreaming ? ', a stream' : ''}: 102 and 103 are relayed in order`,
      async t => {
        answer = () => ({ pieces: [working, hints, working, ...pieces] })
        const client = await connectRaw(t, gateway.url)
        client.socket.write(request('1.1'))
        await client.ended

        const answers = parseAnswers(client.received())
        t.same(
          answers.map(({ status }) => status),
          [102, 103, 102, 200],
        )
        t.same(
          [...(answers[1]?.headers ?? [])],
          [
            ['link', '</style.css>; rel=preload'],
            ['x-other', 'caf\u00e9'],
          ],
          'without headers that are never relayed',
        )
        t.match(client.received().toString('latin1'), 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>')
        t.equal(answers[3]?.body.toString(), whole)
        t.equal((await settled(gateway, (exchangeCount += 1))).at(-1)?.outcome, 'completed')
      },
    )

    await t.test(
      `${call.name}${isStreaming ? ', a stream' : ''}: HTTP/1.0 receives none of them`,
      async t => {
        answer = () => ({ pieces: [working, hints, ...pieces] })
        const client = await connectRaw(t, gateway.url)
        client.socket.write(request('1.0'))
        await client.ended

        const [first, ...more] = parseAnswers(client.received())
        t.equal(first?.status, 200)
        t.equal(first?.body.toString(), whole)
        t.same(more, [])
        await settled(gateway, (exchangeCount += 1))
      },
    )
  }
}

const [openai] = dialectCalls
const body = openai?.body(false) ?? ''
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${gateway.key}\r\n`
const request = `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const document = openai?.document ?? ''
const response = [
  headLines(200, ['content-length', String(Buffer.byteLength(document))]),
  Buffer.from(document),
]

await t.test('an informational response long before the head is relayed at once', async t => {
  let goOn: () => void = () => undefined
  const goesOn = new Promise<void>(resolve => (goOn = resolve))
  answer = async () => {
    for (const socket of upstream.openSockets) socket.write(hints)
    await goesOn
    return { pieces: response }
  }
  const client = await connectRaw(t, gateway.url)
  client.socket.write(request)
  await client.waitFor('Early Hints')
  t.notMatch(client.received().toString('latin1'), 'HTTP/1.1 200')

  goOn()
  await client.waitFor(document.slice(-20))
  await settled(gateway, (exchangeCount += 1))
})

await t.test('pipelined requests receive informational responses in their turn', async t => {
  answer = async () => {
    await delay(20)
    return { pieces: [hints, ...response] }
  }
  const client = await connectRaw(t, gateway.url)
  client.socket.write(request.repeat(3))
  const answers = (): ParsedAnswer[] => parseAnswers(client.received())
  await until(() => answers().filter(({ status }) => status === 200).length === 3)

  t.same(
    answers()
      .filter(({ status }) => status === 200)
      .map(({ body, isWhole }) => [body.toString(), isWhole]),
    Array.from({ length: 3 }, () => [document, true]),
  )
  t.equal(answers()[0]?.status, 103)
  await settled(gateway, (exchangeCount += 3))
})

await t.test('a pipelined request that expects 100 Continue receives only its final response', async t => {
  answer = async () => {
    await delay(100)
    return { pieces: response }
  }
  const expecting = (key: string): string =>
    request.replace('\r\n\r\n', '\r\nexpect: 100-continue\r\n\r\n').replace(gateway.key, key)
  for (const [key, status] of [
    [gateway.key, 200],
    // Refused long before its turn to respond.
    ['gw-wrong', 401],
  ] as const) {
    const client = await connectRaw(t, gateway.url)
    client.socket.write(request + expecting(key))
    await client.ended

    t.same(
      parseAnswers(client.received()).map(({ status, isWhole }) => [status, isWhole]),
      [
        [200, true],
        [status, true],
      ],
    )
    await settled(gateway, (exchangeCount += 2))
  }
})

await t.test('a flood of informational responses ends the request with 502', async t => {
  for (const count of [101, 200_000]) {
    const flood = Buffer.concat(Array.from({ length: count }, () => working))
    answer = () => ({ pieces: [flood, ...response] })
    const client = await connectRaw(t, gateway.url)
    client.socket.write(request)
    await client.waitFor('upstream_failed')
    const statuses = parseAnswers(client.received()).map(({ status }) => status)
    t.equal(statuses.at(-1), 502)
    t.ok(statuses.length <= 101, `${statuses.length} of ${count} responses`)
    t.equal((await settled(gateway, (exchangeCount += 1))).at(-1)?.outcome, 'refused')
  }
})

await t.test('the ledger is in order', t => checkMoney(t, gateway))
