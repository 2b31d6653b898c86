import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const served = (): RawAnswer => plainAnswer(200, json, openai.document)
const overloaded = '{"error":{"message":"The engine is overloaded","type":"server_error","code":null}}'

/** A port where nobody listens. */
async function deadOrigin(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

type Extra = Readonly<Record<string, unknown>>

/** A model of two providers, in this order. */
async function startTwo(
  t: Test,
  first: string,
  second: string,
  { one = {}, other = {} }: { readonly one?: Extra; readonly other?: Extra } = {},
): Promise<TestGateway> {
  const provider = (origin: string, extra: Extra): object => ({
    credentials: ['key'],
    dialects: { openai: { baseUrl: `${origin}/v1` } },
    timeouts: { connectMs: 500, firstByteMs: 2000 },
    ...extra,
  })
  const config: ConfigSections = {
    providers: { first: provider(first, one), second: provider(second, other) },
    models: { '*': { provider: ['first', 'second'], rubPerMillion: { input: '1000', output: '1000' } } },
  }
  return await startTestGateway(t, { config })
}

async function ask(gateway: TestGateway, isStreaming = false): Promise<ClientAnswer> {
  return await send(gateway.url + openai.path(isStreaming), {
    headers: [...openai.keyHeader(gateway.key), ...json],
    body: openai.body(isStreaming),
  })
}

await t.test(
  'faults 1 and 2: refused, or no such name: the next provider answers, and is charged for',
  async t => {
    const second = await startRawUpstream(t, served)
    for (const origin of [await deadOrigin(), 'https://nowhere.invalid']) {
      const gateway = await startTwo(t, origin, second.origin)
      const before = performance.now()
      const answer = await ask(gateway)
      t.equal(answer.status, 200, answer.body.toString())
      t.equal(answer.body.toString(), openai.document)
      t.ok(performance.now() - before < 1000)
      t.match(await settled(gateway, 1), [{ outcome: 'completed', provider: 'second', attempts: 2 }])
      t.match(await gateway.charges(), [
        { provider: 'second', usage: { input: 12, output: 34 }, amount: '0.046000' },
      ])
      await checkMoney(t, gateway)
    }
    t.equal(second.requests.length, 2)
  },
)

await t.test(
  'faults 1 and 2: with nowhere else to go it is 502 within a second, and nothing is owed',
  async t => {
    for (const origin of [await deadOrigin(), 'https://nowhere.invalid']) {
      const gateway = await startTwo(t, origin, origin)
      const before = performance.now()
      const answer = await ask(gateway)
      t.equal(answer.status, 502)
      t.match(answer.body.toString(), /upstream_unreachable/)
      t.equal(answer.headers['x-should-retry'], 'true')
      t.ok(performance.now() - before < 1000)
      await settled(gateway, 1)
      t.same(await gateway.charges(), [])
      await checkMoney(t, gateway)
    }
  },
)

await t.test('fault 3: a connection that does not come about in time goes to the next provider', async t => {
  // It takes the connection and never says a word of TLS.
  const hole = createServer(() => undefined).listen(0, '127.0.0.1')
  t.teardown(() => hole.close())
  await once(hole, 'listening')
  const silent = `https://127.0.0.1:${(hole.address() as AddressInfo).port}`
  const second = await startRawUpstream(t, served)
  const gateway = await startTwo(t, silent, second.origin)
  t.equal((await ask(gateway)).status, 200)

  const lonely = await startTwo(t, silent, silent)
  const answer = await ask(lonely)
  t.equal(answer.status, 504)
  t.match(answer.body.toString(), /nothing was sent/)
  await settled(lonely, 1)
  t.same(await lonely.charges(), [])
  await settled(gateway, 1)
  await checkMoney(t, gateway)
  await checkMoney(t, lonely)
})

await t.test(
  'fault 5: a provider that has the request and never answers is a 504, and nobody else is asked',
  async t => {
    const first = await startRawUpstream(t, () => new Promise<RawAnswer>(() => undefined))
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, first.origin, second.origin, {
      one: { timeouts: { firstByteMs: 300 } },
    })
    const answer = await ask(gateway)
    t.equal(answer.status, 504)
    t.equal(answer.headers['x-should-retry'], 'false')
    t.equal(first.requests.length, 1)
    t.equal(second.requests.length, 0)
    await until(() => first.openSockets.size === 0)
    await settled(gateway, 1)
    t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
    await checkMoney(t, gateway)
  },
)

await t.test(
  'fault 6: a request that was sent and reset is never repeated, on any of the ways there are',
  async t => {
    const first = await startRawUpstream(t, () => ({ pieces: [], then: 'reset' }))
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, first.origin, second.origin, { one: { credentials: ['a', 'b', 'c'] } })
    const answer = await ask(gateway)
    t.equal(answer.status, 502)
    t.match(answer.body.toString(), /upstream_failed/)
    t.equal(answer.headers['x-should-retry'], 'false')
    t.equal(first.requests.length, 1)
    t.equal(second.requests.length, 0)
    await settled(gateway, 1)
    t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
    await checkMoney(t, gateway)
  },
)

for (const status of [429, 503, 529]) {
  await t.test(`fault 14: ${status} goes on to the next provider, else it passes byte for byte`, async t => {
    const first = await startRawUpstream(t, () =>
      plainAnswer(status, [...json, 'retry-after', '7'], overloaded),
    )
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, first.origin, second.origin)
    t.equal((await ask(gateway)).status, 200)
    t.equal((await ask(gateway, true)).status, 200)
    t.match(await settled(gateway, 2), [{ provider: 'second', attempts: 2 }])
    t.same(
      (await gateway.charges()).map(({ provider }) => provider),
      ['second', 'second'],
    )

    second.answer = first.answer
    const refused = await ask(gateway)
    t.equal(refused.status, status)
    t.equal(refused.body.toString(), overloaded)
    t.equal(refused.headers['retry-after'], '7')

    second.answer = () => ({ pieces: [], then: 'reset' })
    const broken = await ask(gateway)
    t.equal(broken.status, 502, 'the second may have worked on it, so the client must not repeat it')
    t.match(broken.body.toString(), /upstream_failed/)
    t.equal(broken.headers['x-should-retry'], 'false')
    await settled(gateway, 4)
    t.match((await gateway.charges())[2], { amount: '0.000000', flags: ['ambiguous'] })
    await checkMoney(t, gateway)

    const strict = await startTwo(t, first.origin, second.origin, { one: { failover: { on: [] } } })
    const before = second.requests.length
    t.equal((await ask(strict)).status, status)
    t.equal(second.requests.length, before, 'failover can be switched off')
    await settled(strict, 1)
    await checkMoney(t, strict)
  })
}

await t.test('a 500 is an answer: it passes, and nobody else is asked', async t => {
  const first = await startRawUpstream(t, () => plainAnswer(500, json, overloaded))
  const second = await startRawUpstream(t, served)
  const gateway = await startTwo(t, first.origin, second.origin)
  const answer = await ask(gateway)
  t.equal(answer.status, 500)
  t.equal(answer.body.toString(), overloaded)
  t.equal(second.requests.length, 0)
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

await t.test(
  'each provider gets the request as it needs it: usage is asked for, and hidden, where it must be',
  async t => {
    const body = openai.body(true).replace(',"stream_options":{"include_usage":true}', '')
    const first = await startRawUpstream(t, () => plainAnswer(503, json, overloaded))
    const second = await startRawUpstream(t, () => ({
      pieces: [
        headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
        ...chunked(openai.events.map(event => Buffer.from(event))),
      ],
    }))
    const gateway = await startTwo(t, first.origin, second.origin, { other: { streamUsage: 'inject' } })
    const answer = await send(gateway.url + openai.path(true), {
      headers: [...openai.keyHeader(gateway.key), ...json],
      body,
    })
    t.equal(answer.status, 200)
    t.equal(first.requests[0]?.body.toString(), body)
    t.match(second.requests[0]?.body.toString(), /"include_usage":true/)
    t.notMatch(answer.body.toString(), /"usage"/)
    await settled(gateway, 1)
    t.match(await gateway.charges(), [{ usage: { input: 12, output: 34 }, usageSource: 'provider' }])
    await checkMoney(t, gateway)
  },
)

await t.test(
  'a provider that cannot be reached is left alone, and tried by one real request after a while',
  async t => {
    const origin = await deadOrigin()
    const gateway = await startTwo(t, origin, origin, {
      other: { dialects: { openai: null, anthropic: { baseUrl: `${origin}/v1` } } },
    })
    for (let count = 0; count < 5; count += 1)
      t.match((await ask(gateway)).body.toString(), /could not be reached; nothing/)
    t.match((await ask(gateway)).body.toString(), /left alone for now; nothing was sent/)

    const server = createServer().listen(Number(new URL(origin).port), '127.0.0.1')
    await once(server, 'listening')
    let connections = 0
    server.on('connection', socket => {
      connections += 1
      socket.on('data', () => {
        const { pieces } = served()
        setTimeout(() => socket.write(pieces[0] as Buffer), 100)
      })
      socket.on('error', () => socket.destroy())
      t.teardown(() => socket.destroy())
    })
    t.teardown(() => server.close())
    t.equal((await ask(gateway)).status, 502, 'it is not asked yet')
    t.equal(connections, 0)
    await new Promise(resolve => setTimeout(resolve, 2100))
    const probes = await Promise.all(Array.from({ length: 5 }, () => ask(gateway)))
    t.equal(probes.filter(({ status }) => status === 200).length, 1, 'one request finds out')
    t.equal(connections, 1)
    t.equal((await ask(gateway)).status, 200, 'and then all may go')
    await settled(gateway, 13)
    t.equal((await gateway.charges()).length, 2)
    await checkMoney(t, gateway)
  },
)

await t.test(
  'one account cannot switch a provider off for the others by requests that it dies of',
  async t => {
    let isKilling = true
    const first = await startRawUpstream(t, () => (isKilling ? { pieces: [], then: 'reset' } : served()))
    const gateway = await startTwo(t, first.origin, await deadOrigin())
    for (let count = 0; count < 12; count += 1)
      t.match((await ask(gateway)).body.toString(), /upstream_failed/)
    isKilling = false
    t.equal((await ask(gateway)).status, 200)
    await settled(gateway, 13)
    await checkMoney(t, gateway)
  },
)

await t.test(
  'connections and waiting requests are bounded; beyond is 503 overloaded with retry-after',
  async t => {
    const waiting: (() => void)[] = []
    const first = await startRawUpstream(
      t,
      () => new Promise<RawAnswer>(resolve => waiting.push(() => resolve(served()))),
    )
    const limits = { connectionsMax: 2, waitingMax: 3, waitMs: 500 }
    const gateway = await startTwo(t, first.origin, await deadOrigin(), {
      one: { limits, timeouts: { firstByteMs: 5000 } },
      other: { dialects: { openai: null, anthropic: { baseUrl: 'http://127.0.0.1:9/v1' } } },
    })

    const answers = Array.from({ length: 5 }, () => ask(gateway))
    await until(() => first.requests.length === 2)
    await new Promise(resolve => setTimeout(resolve, 50))
    const refused = await ask(gateway)
    t.equal(refused.status, 503)
    t.match(refused.body.toString(), /overloaded/)
    t.ok(Number(refused.headers['retry-after']) >= 1)
    t.equal(first.openSockets.size, 2, 'two connections at once')

    waiting.shift()?.()
    await until(() => first.requests.length === 3)
    t.ok(first.openSockets.size <= 2)
    await new Promise(resolve => setTimeout(resolve, 550))
    for (const answer of waiting.splice(0)) answer()
    const statuses = (await Promise.all(answers))
      .map(({ status }) => status)
      .toSorted((one, other) => one - other)
    t.same(statuses, [200, 200, 200, 503, 503], 'two waited too long')
    t.equal(first.requests.length, 3)
    await settled(gateway, 6)
    t.equal((await gateway.charges()).length, 3)
    await checkMoney(t, gateway)
  },
)
