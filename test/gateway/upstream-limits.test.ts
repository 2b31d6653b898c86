import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { askTwo, deadOrigin, startTwo } from '../fixtures/two-providers.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const served = (): RawAnswer => plainAnswer(200, json, openai.document)

await t.test(
  'a provider that cannot be reached is left alone, and tried by one real request after a while',
  async t => {
    const origin = await deadOrigin()
    const gateway = await startTwo(t, origin, origin, {
      other: { dialects: { openai: null, anthropic: { baseUrl: `${origin}/v1` } } },
    })
    for (let count = 0; count < 5; count += 1)
      t.match((await askTwo(gateway)).body.toString(), /could not be reached; nothing/)
    t.match((await askTwo(gateway)).body.toString(), /left alone for now; nothing was sent/)

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
    t.equal((await askTwo(gateway)).status, 502, 'it is not asked yet')
    t.equal(connections, 0)
    await new Promise(resolve => setTimeout(resolve, 2100))
    const probes = await Promise.all(Array.from({ length: 5 }, () => askTwo(gateway)))
    t.equal(probes.filter(({ status }) => status === 200).length, 1, 'one request finds out')
    t.equal(connections, 1)
    t.equal((await askTwo(gateway)).status, 200, 'and then all may go')
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
      t.match((await askTwo(gateway)).body.toString(), /upstream_failed/)
    isKilling = false
    t.equal((await askTwo(gateway)).status, 200)
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

    const answers = Array.from({ length: 5 }, () => askTwo(gateway))
    await until(() => first.requests.length === 2)
    await new Promise(resolve => setTimeout(resolve, 50))
    const refused = await askTwo(gateway)
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
