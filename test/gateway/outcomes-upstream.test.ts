import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, headLines, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

function requestBytes(call: DialectCall, gateway: TestGateway, isStreaming: boolean): string {
  const body = call.body(isStreaming)
  const [name, value] = call.keyHeader(gateway.key)
  return (
    `POST ${call.path(isStreaming)} HTTP/1.1\r\nhost: gateway\r\n${name}: ${value}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

interface Cut {
  /** The place in the response where the provider stops. */
  readonly name: string
  readonly bytes: Buffer
  /** Whether the cut is between two events, so that an error event can be added. */
  readonly isBoundary: boolean
  /** The source of the charged usage; undefined where the charge is zero, for a comparison with the bill. */
  readonly usageSource: 'provider' | 'estimated' | undefined
}

/** The places at which a stream is cut, and the charge for each. */
function streamCuts(call: DialectCall): Cut[] {
  const { events, eventsUntilUsage } = call
  const upTo = (count: number): Buffer => Buffer.from(events.slice(0, count).join(''))
  // Anthropic's first event reports the input and delivers nothing, so it is not charged.
  const early = call.name === 'anthropic' ? undefined : 'estimated'
  const whole = Buffer.from(events.join(''))
  const character = whole.indexOf('“')
  const afterUsage = upTo(eventsUntilUsage)
  return [
    { name: 'before the first event', bytes: Buffer.alloc(0), isBoundary: true, usageSource: undefined },
    { name: 'after one event', bytes: upTo(1), isBoundary: true, usageSource: early },
    {
      name: 'in the middle of an event',
      bytes: whole.subarray(0, character - 5),
      isBoundary: false,
      usageSource: early,
    },
    {
      name: 'in the middle of a character',
      bytes: whole.subarray(0, character + 1),
      isBoundary: false,
      usageSource: early,
    },
    {
      name: 'after some text',
      bytes: upTo(events.findIndex(event => event.includes('“')) + 1),
      isBoundary: true,
      usageSource: 'estimated',
    },
    { name: 'after the usage', bytes: afterUsage, isBoundary: true, usageSource: 'provider' },
    {
      name: 'before the last byte',
      bytes: whole.subarray(0, -1),
      isBoundary: false,
      usageSource: 'provider',
    },
  ]
}

/** Sends a request that the provider cuts, and returns what the client received. */
async function cutOff(
  t: Test,
  gateway: TestGateway,
  request: string,
  prepare: (client: RawClient) => void,
): Promise<{ bytes: Buffer; end: 'end' | 'reset' }> {
  const client = await connectRaw(t, gateway.url)
  prepare(client)
  client.socket.write(request)
  const end = await client.ended
  return { bytes: client.received(), end }
}

for (const call of dialectCalls) {
  for (const how of ['reset', 'end'] as const) {
    await t.test(
      `${call.name}: a stream that the provider cuts with ${how === 'end' ? 'a FIN' : 'a reset'} is reset and charged`,
      async t => {
        let next: RawAnswer = { pieces: [] }
        const upstream = await startRawUpstream(t, () => next)
        const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
        let count = 0
        for (const cut of streamCuts(call)) {
          await t.test(cut.name, async t => {
            const { bytes, end } = await cutOff(t, gateway, requestBytes(call, gateway, true), client => {
              const head = headLines(200, [
                'content-type',
                'text/event-stream',
                'transfer-encoding',
                'chunked',
              ])
              const framed = cut.bytes.length === 0 ? [] : chunked([cut.bytes]).slice(0, -1)
              next = {
                pieces: [head, ...framed],
                then: how,
                before: () =>
                  until(() => parseAnswers(client.received())[0]?.body.length === cut.bytes.length),
              }
            })
            const [answer] = parseAnswers(bytes)

            t.equal(end, 'reset', 'no clean end')
            t.equal(answer?.status, 200)
            t.equal(answer?.isWhole, false, 'no last chunk')
            const got = answer?.body ?? Buffer.alloc(0)
            t.ok(
              got.subarray(0, cut.bytes.length).equals(cut.bytes),
              'the bytes so far are the provider\u2019s',
            )
            const rest = got.subarray(cut.bytes.length).toString()
            if (cut.isBoundary) t.match(rest, call.errorEvent, 'the dialect\u2019s error event comes last')
            else t.equal(rest, '', 'nothing is added to half an event')

            const ends = await settled(gateway, ++count)
            t.equal(ends.length, count, 'one end')
            t.match(ends.at(-1), { outcome: 'broken' })
            const charge = await gateway.chargeOf(ends.at(-1)!.requestId)
            t.equal(charge?.outcome, 'broken')
            if (cut.usageSource === undefined) {
              t.match(charge, { amount: '0.000000', lines: [] })
              t.ok(charge?.flags.includes('ambiguous'))
            } else {
              t.equal(charge?.usageSource, cut.usageSource)
              t.ok(Number(charge?.amount) > 0)
            }
            if (cut.name === 'after the usage') t.match(charge?.usage, call.usage)
          })
        }
        await checkMoney(t, gateway)
      },
    )
  }

  await t.test(`${call.name}: a document that the provider cuts is reset and charged`, async t => {
    let next: RawAnswer = { pieces: [] }
    const upstream = await startRawUpstream(t, () => next)
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
    const whole = Buffer.from(call.document)
    const type = ['content-type', 'application/json']
    const short = whole.subarray(0, -1)
    const cuts: [string, Buffer, Buffer[], 'end' | 'reset'][] = [
      [
        'one byte short of its length',
        short,
        [headLines(200, [...type, 'content-length', String(whole.length)]), short],
        'end',
      ],
      [
        'reset one byte short',
        short,
        [headLines(200, [...type, 'content-length', String(whole.length)]), short],
        'reset',
      ],
      [
        'without its last chunk',
        whole,
        [headLines(200, [...type, 'transfer-encoding', 'chunked']), chunked([whole])[0]!],
        'end',
      ],
      [
        'reset before its last chunk',
        whole,
        [headLines(200, [...type, 'transfer-encoding', 'chunked']), chunked([whole])[0]!],
        'reset',
      ],
    ]
    let count = 0
    for (const [name, bytes, pieces, then] of cuts) {
      await t.test(name, async t => {
        const result = await cutOff(t, gateway, requestBytes(call, gateway, false), client => {
          next = {
            pieces,
            then,
            before: () => until(() => parseAnswers(client.received())[0]?.body.length === bytes.length),
          }
        })
        const [answer] = parseAnswers(result.bytes)
        t.equal(result.end, 'reset')
        t.equal(answer?.isWhole, false)
        t.ok(answer?.body.equals(bytes), 'the provider\u2019s bytes and no error in a document')

        const ends = await settled(gateway, ++count)
        t.equal(ends.length, count)
        t.match(ends.at(-1), { outcome: 'broken' })
        t.match(await gateway.chargeOf(ends.at(-1)!.requestId), {
          usage: call.usage,
          usageSource: 'provider',
          outcome: 'broken',
        })
      })
    }
    await checkMoney(t, gateway)
  })
}

await t.test('a cut stream of /v1/responses ends with the error event of that format', async t => {
  const event = 'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n'
  let before: RawAnswer['before'] = undefined
  const upstream = await startRawUpstream(t, () => ({
    pieces: [
      headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
      chunked([Buffer.from(event)])[0]!,
    ],
    then: 'reset',
    ...(before !== undefined && { before }),
  }))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
  const client = await connectRaw(t, gateway.url)
  before = () => client.waitFor('resp_1')
  const body = '{"model":"m","stream":true,"input":"x"}'
  client.socket.write(
    `POST /v1/responses HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await client.ended

  const [answer] = parseAnswers(client.received())
  t.match(
    answer?.body.toString().slice(event.length),
    /^event: error\ndata: \{"type":"error","code":"upstream_failed"/,
  )
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})
