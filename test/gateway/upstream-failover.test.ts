import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
} from '../fixtures/raw-upstream.ts'
import { askTwo, deadOrigin, startTwo } from '../fixtures/two-providers.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const served = (): RawAnswer => plainAnswer(200, json, openai.document)
const overloaded = '{"error":{"message":"The engine is overloaded","type":"server_error","code":null}}'

await t.test(
  'faults 1 and 2: after a refused connection or an unknown name the next provider serves, and is charged',
  async t => {
    const second = await startRawUpstream(t, served)
    for (const origin of [await deadOrigin(), 'https://nowhere.invalid']) {
      const gateway = await startTwo(t, origin, second.origin)
      const before = performance.now()
      const answer = await askTwo(gateway)
      t.equal(answer.status, 200, answer.body.toString())
      t.equal(answer.body.toString(), openai.document)
      t.ok(performance.now() - before < 1000)
      t.match(await settled(gateway, 1), [{ outcome: 'completed', provider: 'second', attempts: 2 }])
      t.match(await gateway.chargesOfWork(), [
        { provider: 'second', usage: { input: 12, output: 34 }, amount: '0.046000' },
      ])
      await checkMoney(t, gateway)
    }
    t.equal(second.requests.length, 2)
  },
)

await t.test(
  'faults 1 and 2: without another provider it is 502 within a second, and nothing is charged',
  async t => {
    for (const origin of [await deadOrigin(), 'https://nowhere.invalid']) {
      const gateway = await startTwo(t, origin, origin)
      const before = performance.now()
      const answer = await askTwo(gateway)
      t.equal(answer.status, 502)
      t.match(answer.body.toString(), /upstream_unreachable/)
      t.equal(answer.headers['x-should-retry'], 'true')
      t.ok(performance.now() - before < 1000)
      await settled(gateway, 1)
      t.same(await gateway.chargesOfWork(), [])
      await checkMoney(t, gateway)
    }
  },
)

await t.test(
  'fault 3: a request whose connection is not established in time goes to the next provider',
  async t => {
    // It accepts connections and never begins TLS.
    const hole = createServer(() => undefined).listen(0, '127.0.0.1')
    t.teardown(() => hole.close())
    await once(hole, 'listening')
    const silent = `https://127.0.0.1:${(hole.address() as AddressInfo).port}`
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, silent, second.origin)
    t.equal((await askTwo(gateway)).status, 200)

    const lonely = await startTwo(t, silent, silent)
    const answer = await askTwo(lonely)
    t.equal(answer.status, 504)
    t.match(answer.body.toString(), /nothing was sent/)
    await settled(lonely, 1)
    t.same(await lonely.chargesOfWork(), [])
    await settled(gateway, 1)
    await checkMoney(t, gateway)
    await checkMoney(t, lonely)
  },
)

await t.test(
  'fault 5: a provider that never responds to a sent request is a 504, and no other provider is tried',
  async t => {
    const first = await startRawUpstream(t, () => new Promise<RawAnswer>(() => undefined))
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, first.origin, second.origin, {
      one: { timeouts: { firstByteMs: 300 } },
    })
    const answer = await askTwo(gateway)
    t.equal(answer.status, 504)
    t.equal(answer.headers['x-should-retry'], 'false')
    t.equal(first.requests.length, 1)
    t.equal(second.requests.length, 0)
    await until(() => first.openSockets.size === 0)
    await settled(gateway, 1)
    t.match(await gateway.chargesOfWork(), [{ amount: '0.000000', flags: ['ambiguous'] }])
    await checkMoney(t, gateway)
  },
)

await t.test(
  'fault 6: a sent request that is reset is never repeated, by any credential or provider',
  async t => {
    const first = await startRawUpstream(t, () => ({ pieces: [], then: 'reset' }))
    const second = await startRawUpstream(t, served)
    const gateway = await startTwo(t, first.origin, second.origin, { one: { credentials: ['a', 'b', 'c'] } })
    const answer = await askTwo(gateway)
    t.equal(answer.status, 502)
    t.match(answer.body.toString(), /upstream_failed/)
    t.equal(answer.headers['x-should-retry'], 'false')
    t.equal(first.requests.length, 1)
    t.equal(second.requests.length, 0)
    await settled(gateway, 1)
    t.match(await gateway.chargesOfWork(), [{ amount: '0.000000', flags: ['ambiguous'] }])
    await checkMoney(t, gateway)
  },
)

for (const status of [429, 503, 529]) {
  await t.test(
    `fault 14: a ${status} goes to the next provider, or is relayed byte for byte without one`,
    async t => {
      const first = await startRawUpstream(t, () =>
        plainAnswer(status, [...json, 'retry-after', '7'], overloaded),
      )
      const second = await startRawUpstream(t, served)
      const gateway = await startTwo(t, first.origin, second.origin)
      t.equal((await askTwo(gateway)).status, 200)
      t.equal((await askTwo(gateway, true)).status, 200)
      t.match(await settled(gateway, 2), [{ provider: 'second', attempts: 2 }])
      t.same(
        (await gateway.chargesOfWork()).map(({ provider }) => provider),
        ['second', 'second'],
      )

      second.answer = first.answer
      const refused = await askTwo(gateway)
      t.equal(refused.status, status)
      t.equal(refused.body.toString(), overloaded)
      t.equal(refused.headers['retry-after'], '7')

      second.answer = () => ({ pieces: [], then: 'reset' })
      const broken = await askTwo(gateway)
      t.equal(broken.status, 502, 'the second may have worked on it, so the client must not retry')
      t.match(broken.body.toString(), /upstream_failed/)
      t.equal(broken.headers['x-should-retry'], 'false')
      await settled(gateway, 4)
      t.match((await gateway.chargesOfWork())[2], { amount: '0.000000', flags: ['ambiguous'] })
      await checkMoney(t, gateway)

      const strict = await startTwo(t, first.origin, second.origin, { one: { failover: { on: [] } } })
      const before = second.requests.length
      t.equal((await askTwo(strict)).status, status)
      t.equal(second.requests.length, before, 'failover can be switched off')
      await settled(strict, 1)
      await checkMoney(t, strict)
    },
  )
}

await t.test('a 500 is relayed, and no other provider is tried', async t => {
  const first = await startRawUpstream(t, () => plainAnswer(500, json, overloaded))
  const second = await startRawUpstream(t, served)
  const gateway = await startTwo(t, first.origin, second.origin)
  const answer = await askTwo(gateway)
  t.equal(answer.status, 500)
  t.equal(answer.body.toString(), overloaded)
  t.equal(second.requests.length, 0)
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

await t.test(
  'each attempt has the request of its provider: usage is requested and hidden where configured',
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
    t.match(await gateway.chargesOfWork(), [{ usage: { input: 12, output: 34 }, usageSource: 'provider' }])
    await checkMoney(t, gateway)
  },
)
