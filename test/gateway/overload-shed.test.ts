import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }
const pieces = chunked(openai.events.map(event => Buffer.from(event)))

async function start(t: Test, sections: ConfigSections) {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...pieces.slice(0, 2),
          ],
        }
      : plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { admin, ...sections }),
    rub: 100_000,
  })
  return { upstream, gateway }
}

function ask(gateway: TestGateway, key = gateway.key, call: DialectCall = openai): Promise<ClientAnswer> {
  return send(gateway.url + call.path(false), { headers: call.keyHeader(key), body: call.body(false) })
}

async function openStream(t: Test, gateway: TestGateway): Promise<RawClient> {
  const body = openai.body(true)
  const client = await connectRaw(t, gateway.url)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  await client.waitFor('upon a time')
  return client
}

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.gateway.adminUrl}/metrics`)).text()
  const line = text.split('\n').find(one => one.startsWith(`gateway_${name} `))
  return Number(line?.split(' ')[1])
}

await t.test('unknown keys are shed first, then new requests, and running streams never', async t => {
  const { upstream, gateway } = await start(t, { limits: { exchangesMax: 10 } })
  const streams = [await openStream(t, gateway)]
  t.equal((await ask(gateway, 'gw-unknown')).status, 401)

  while (streams.length < 8) streams.push(await openStream(t, gateway))
  await until(async () => (await metric(gateway, 'overload_level')) === 1)
  for (const call of dialectCalls) {
    const shed = await ask(gateway, 'gw-unknown', call)
    t.match(shed, { status: 503, headers: { connection: 'close', 'retry-after': '30' } }, call.name)
    t.match(shed.body.toString(), call.errorBody)
  }
  t.equal((await ask(gateway)).status, 200, 'a known key is served')

  while (streams.length < 10) streams.push(await openStream(t, gateway))
  const before = (await gateway.balance()).heldMicros
  for (const call of dialectCalls) {
    const shed = await ask(gateway, gateway.key, call)
    t.match(shed, { status: 503, isWhole: true }, call.name)
    t.ok(Number(shed.headers['retry-after']) > 0)
    t.match(shed.body.toString(), call.errorBody)
  }
  t.equal((await gateway.balance()).heldMicros, before, 'nothing is held for shed requests')
  t.equal(upstream.requests.length, 11)
  t.equal((await fetch(`${gateway.gateway.adminUrl}/readyz`)).status, 200)

  for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
  await until(() => streams.every(stream => parseAnswers(stream.received())[0]?.isWhole === true))
  t.ok(
    streams.every(stream => parseAnswers(stream.received())[0]?.body.toString() === openai.events.join('')),
  )
  await until(async () => (await metric(gateway, 'overload_level')) === 0)
  t.equal((await ask(gateway)).status, 200)
  t.equal((await ask(gateway, 'gw-unknown')).status, 401)
  await settled(gateway, 20)
  t.equal((await gateway.charges()).length, 12)
  await checkMoney(t, gateway)
})

await t.test('fault 58: uploads that do not fit into memory are shed, the others are served', async t => {
  const { upstream, gateway } = await start(t, {
    limits: { memoryBytesMax: '2GB', bodyBytesTotalMax: '48MB' },
  })
  const filler = 'x'.repeat(20 * 1_048_576)
  const body = openai.body(false).replace('Tell me', filler)

  const answers = await Promise.allSettled(
    Array.from({ length: 12 }, () =>
      send(gateway.url + openai.path(false), { headers: openai.keyHeader(gateway.key), body }),
    ),
  )

  const statuses = answers.map(answer => (answer.status === 'fulfilled' ? answer.value.status : 0))
  const served = statuses.filter(status => status === 200).length
  t.ok(served >= 1 && served < 12, `${served} of 12 were served`)
  // A client that is still sending when it is refused may see the reset instead of the response.
  t.ok(
    statuses.every(status => status === 200 || status === 503 || status === 0),
    statuses.join(),
  )
  t.equal(upstream.requests.length, served)
  await settled(gateway, 12)
  t.equal((await ask(gateway)).status, 200, 'the memory is free again')
  await settled(gateway, 13)
  await checkMoney(t, gateway)
})

await t.test('fault 36: a flood of unknown keys is refused, and a known key is served meanwhile', async t => {
  const { upstream, gateway } = await start(t, { log: { level: 'info' } })
  const timed = async (count: number): Promise<number[]> => {
    const times: number[] = []
    for (let n = 0; n < count; n += 1) {
      const begun = performance.now()
      t.equal((await ask(gateway)).status, 200)
      times.push(performance.now() - begun)
    }
    return times.toSorted((a, b) => a - b)
  }
  await timed(30)
  const calm = await timed(60)

  const flood = await connectRaw(t, gateway.url)
  let sent = 0
  const request = (n: number): string => {
    const key = `gw-${createHash('sha256').update(String(n)).digest('base64url')}`
    return `GET /v1/models HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${key}\r\n\r\n`
  }
  const begun = performance.now()
  const wave = async (): Promise<void> => {
    for (let n = 0; n < 200; n += 1) flood.socket.write(request((sent += 1)))
    await until(() => exchangeEnds(gateway).length >= 90 + sent)
  }
  for (let turn = 0; turn < 5; turn += 1) await wave()
  const perSecond = Math.round(sent / ((performance.now() - begun) / 1000))
  const flooded = wave()
  const busy = await timed(20)
  await flooded

  const refused = parseAnswers(flood.received())
  t.equal(refused.length, sent)
  t.ok(refused.every(answer => answer.status === 401))
  t.comment(`${perSecond} refusals a second; median ${calm[30]} ms calm, ${busy[10]} ms in the flood`)
  t.equal(upstream.requests.length, 110)
  const stored = gateway.breaches()
  t.same(await stored, [])
})
