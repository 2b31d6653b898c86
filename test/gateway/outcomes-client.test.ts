import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw, type RawClient } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const policies = ['abort', 'drain'] as const
const [openai] = dialectCalls as readonly [DialectCall]

/** An upstream that continues when `goOn` is called. */
interface Stage {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
  readonly client: RawClient
  /** Lets the provider send the rest of its response. */
  readonly goOn: () => void
}

interface Part {
  readonly pieces: readonly Buffer[]
}

/** Sends a request; the provider sends the first part of its response, waits, and sends the second. */
async function ask(
  t: Test,
  call: DialectCall,
  policy: 'abort' | 'drain',
  isStreaming: boolean,
  parts: readonly [Part, Part],
): Promise<Stage> {
  let goOn: () => void = () => undefined
  const mayGoOn = new Promise<void>(resolve => (goOn = resolve))
  let count = 0
  const upstream = await startRawUpstream(t, async (): Promise<RawAnswer> => {
    const [socket] = upstream.openSockets
    count += 1
    for (const piece of parts[0].pieces) socket?.write(piece)
    await mayGoOn
    return { pieces: parts[1].pieces }
  })
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, { onClientLeft: policy }) })
  const client = await connectRaw(t, gateway.url)
  const body = call.body(isStreaming)
  const [name, value] = call.keyHeader(gateway.key)
  client.socket.write(
    `POST ${call.path(isStreaming)} HTTP/1.1\r\nhost: gateway\r\n${name}: ${value}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  await until(() => count === 1)
  return { upstream, gateway, client, goOn }
}

const streamHead = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

function streamParts(call: DialectCall, at: number): [Part, Part] {
  const bytes = Buffer.from(call.events.join(''))
  return [
    { pieces: [streamHead, ...chunked([bytes.subarray(0, at)]).slice(0, -1)] },
    { pieces: chunked([bytes.subarray(at)]) },
  ]
}

/** Waits until the gateway has seen the disconnect: with `abort` it closes the upstream; a drain shows nothing. */
async function noticed(policy: 'abort' | 'drain', upstream: RawUpstream): Promise<void> {
  if (policy === 'abort') await until(() => upstream.openSockets.size === 0, 1000)
  else await new Promise(resolve => setTimeout(resolve, 40))
}

for (const call of dialectCalls) {
  for (const policy of policies) {
    await t.test(
      `${call.name}, ${policy}: a client that leaves before the first byte is charged for what was used`,
      async t => {
        const whole = plainAnswer(200, ['content-type', 'application/json'], call.document)
        const { upstream, gateway, client, goOn } = await ask(t, call, policy, false, [{ pieces: [] }, whole])
        await until(() => upstream.requests.length === 1)

        client.socket.resetAndDestroy()

        await noticed(policy, upstream)
        goOn()
        const [end, ...more] = await settled(gateway, 1)
        t.match(end, { outcome: 'aborted' })
        t.equal(more.length, 0)
        const charge = await gateway.chargeOf(end!.requestId)
        if (policy === 'drain')
          t.match(charge, { usageSource: 'drained', usage: call.usage, outcome: 'aborted' })
        else {
          // No provider documents that it bills nothing: it has at least read the request.
          t.match(charge, { usageSource: 'estimated', usage: { output: 0 } })
          t.ok(charge?.flags.includes('ambiguous'))
          t.ok(Number(charge?.amount) > 0, 'the input is charged')
        }
        await checkMoney(t, gateway)
      },
    )

    await t.test(
      `${call.name}, ${policy}: a client that leaves in the middle of an event is charged for what was used`,
      async t => {
        const at = Buffer.byteLength(call.events.slice(0, call.eventsUntilText).join('')) + 5
        const stage = await ask(t, call, policy, true, streamParts(call, at))
        const { upstream, gateway, client, goOn } = stage
        await until(() => client.received().length > at)

        client.socket.destroy()

        await noticed(policy, upstream)
        goOn()
        const [end, ...more] = await settled(gateway, 1)
        t.match(end, { outcome: 'aborted' })
        t.equal(more.length, 0)
        const charge = await gateway.chargeOf(end!.requestId)
        t.equal(charge?.outcome, 'aborted')
        if (policy === 'drain') t.match(charge, { usageSource: 'drained', usage: call.usage })
        else {
          t.match(charge?.usageSource, /estimated|provider/)
          t.ok(Number(charge?.amount) > 0, 'the delivered part is charged')
          t.ok(Number(charge?.amount) < 0.2, 'and not much more')
        }
        await checkMoney(t, gateway)
      },
    )

    await t.test(
      `${call.name}, ${policy}: a client that leaves in the middle of a document has an aborted exchange`,
      async t => {
        const bytes = Buffer.from(call.document)
        const head = headLines(200, [
          'content-type',
          'application/json',
          'content-length',
          String(bytes.length),
        ])
        const stage = await ask(t, call, policy, false, [
          { pieces: [head, bytes.subarray(0, 30)] },
          { pieces: [bytes.subarray(30)] },
        ])
        const { upstream, gateway, client, goOn } = stage
        await client.waitFor(bytes.subarray(0, 30).toString())

        client.socket.destroy()

        await noticed(policy, upstream)
        goOn()
        const [end, ...more] = await settled(gateway, 1)
        t.match(end, { outcome: 'aborted' })
        t.equal(more.length, 0)
        if (policy === 'drain') {
          t.match(await gateway.chargeOf(end!.requestId), { usageSource: 'drained', usage: call.usage })
        }
        await checkMoney(t, gateway)
      },
    )

    await t.test(
      `${call.name}, ${policy}: a client that leaves after the last event has a completed exchange`,
      async t => {
        const whole = Buffer.byteLength(call.events.join(''))
        const { upstream, gateway, client, goOn } = await ask(t, call, policy, true, streamParts(call, whole))
        await client.waitFor(call.events.at(-1)!)

        client.socket.destroy()

        await until(() => upstream.openSockets.size === 0, 1000)
        goOn()
        const [end, ...more] = await settled(gateway, 1)
        t.match(end, { outcome: 'completed' })
        t.equal(more.length, 0)
        t.match(await gateway.chargeOf(end!.requestId), {
          usageSource: 'provider',
          usage: call.usage,
          outcome: 'completed',
        })
        await checkMoney(t, gateway)
      },
    )
  }
}

await t.test('a request whose client leaves while it sends headers or body reaches no provider', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [], '{}'))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n`

  const first = await connectRaw(t, gateway.url)
  first.socket.write(head)
  await new Promise(resolve => setTimeout(resolve, 20))
  first.socket.resetAndDestroy()
  for (const framing of ['content-length: 1000', 'transfer-encoding: chunked']) {
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const client = await connectRaw(t, gateway.url)
      client.socket.write(`${head}${framing}\r\n\r\n${framing.startsWith('t') ? '10\r\n' : ''}{"model"`)
      await new Promise(resolve => setTimeout(resolve, 20))
      client.socket[leave]()
    }
  }

  const ends = await settled(gateway, 4)
  t.same(
    ends.map(end => end.outcome),
    ['aborted', 'aborted', 'aborted', 'aborted'],
  )
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
  await checkMoney(t, gateway)
})

await t.test('a client that closes its half of the connection has left', async t => {
  const whole = plainAnswer(200, ['content-type', 'application/json'], openai.document)
  const { upstream, gateway, client, goOn } = await ask(t, openai, 'abort', false, [{ pieces: [] }, whole])
  await until(() => upstream.requests.length === 1)

  client.socket.end()

  await until(() => upstream.openSockets.size === 0, 1000)
  goOn()
  t.match(await settled(gateway, 1), [{ outcome: 'aborted' }])
  await checkMoney(t, gateway)
})

await t.test('all pipelined requests end when their client leaves', async t => {
  const upstream = await startRawUpstream(t, () => new Promise(() => undefined))
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { onClientLeft: 'abort' }),
  })
  const body = openai.body(false)
  const request =
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`
  const client = await connectRaw(t, gateway.url)
  client.socket.write(request + request)
  await until(() => upstream.requests.length === 2)

  client.socket.resetAndDestroy()

  await until(() => upstream.openSockets.size === 0, 1000)
  t.same(
    (await settled(gateway, 2)).map(end => end.outcome),
    ['aborted', 'aborted'],
  )
  await checkMoney(t, gateway)
})
