import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { askTwo, deadOrigin, startTwo } from '../fixtures/two-providers.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const served = (): RawAnswer => plainAnswer(200, json, openai.document)

await t.test('an unreachable provider is paused, and then probed by one real request', async t => {
  const origin = await deadOrigin()
  const gateway = await startTwo(t, origin, origin, {
    other: { dialects: { openai: null, anthropic: { baseUrl: `${origin}/v1` } } },
  })
  for (let count = 0; count < 5; count += 1)
    t.match((await askTwo(gateway)).body.toString(), /could not be reached; nothing/)
  t.match((await askTwo(gateway)).body.toString(), /is paused for now; nothing was sent/)

  const server = createServer().listen(Number(new URL(origin).port), '127.0.0.1')
  await once(server, 'listening')
  let connections = 0
  const answers: (() => void)[] = []
  server.on('connection', socket => {
    connections += 1
    socket.on('data', () => {
      const { pieces } = served()
      answers.push(() => socket.write(pieces[0] as Buffer))
    })
    socket.on('error', () => socket.destroy())
    t.teardown(() => socket.destroy())
  })
  t.teardown(() => server.close())
  t.equal((await askTwo(gateway)).status, 502, 'it is still paused')
  t.equal(connections, 0)
  await new Promise(resolve => setTimeout(resolve, 2100))
  const statuses: number[] = []
  const probes = Array.from({ length: 5 }, async () => statuses.push((await askTwo(gateway)).status))
  await until(() => statuses.length === 4 && answers.length > 0)
  t.same(statuses, [502, 502, 502, 502], 'the others do not wait')
  answers.shift()?.()
  await Promise.all(probes)
  t.equal(statuses.at(-1), 200, 'one request probes it')
  t.equal(connections, 1)
  const next = askTwo(gateway)
  await until(() => answers.length > 0)
  answers.shift()?.()
  t.equal((await next).status, 200, 'and then all requests are sent')
  await settled(gateway, 13)
  t.equal((await gateway.chargesOfWork()).length, 2)
  await checkMoney(t, gateway)
})

await t.test(
  'one account cannot pause a provider for others by requests that reset its connection',
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
  'connections and waiting requests are limited; beyond that it is 503 overloaded with retry-after',
  async t => {
    const waiting: (() => void)[] = []
    const first = await startRawUpstream(
      t,
      () => new Promise<RawAnswer>(resolve => waiting.push(() => resolve(served()))),
    )
    const limits = { connectionsMax: 2, waitingMax: 3, waitMs: 1000 }
    const gateway = await startTwo(t, first.origin, await deadOrigin(), {
      one: { limits },
      other: { dialects: { openai: null, anthropic: { baseUrl: 'http://127.0.0.1:9/v1' } } },
    })

    const pending = Array.from({ length: 6 }, () => askTwo(gateway))
    // Two are at the provider and three wait when one is refused.
    const refused = await Promise.race(pending)
    await until(() => first.requests.length === 2)
    t.equal(refused.status, 503)
    t.match(refused.body.toString(), /overloaded/)
    t.ok(Number(refused.headers['retry-after']) >= 1)
    t.equal(first.openSockets.size, 2, 'two connections at once')

    waiting.shift()?.()
    await until(() => first.requests.length === 3)
    t.ok(first.openSockets.size <= 2)
    await until(() => exchangeEnds(gateway).filter(({ outcome }) => outcome === 'refused').length === 3)
    for (const answer of waiting.splice(0)) answer()
    const statuses = (await Promise.all(pending))
      .map(({ status }) => status)
      .toSorted((one, other) => one - other)
    t.same(statuses, [200, 200, 200, 503, 503, 503], 'two waited too long')
    t.equal(first.requests.length, 3)
    await settled(gateway, 6)
    t.equal((await gateway.chargesOfWork()).length, 3)
    await checkMoney(t, gateway)
  },
)
