import t, { type Test } from 'tap'
import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

// Each reading that decides on overload, brought to its limit in a whole gateway.

const [openai] = dialectCalls as readonly [DialectCall]
const admin = { listen: { host: '127.0.0.1', port: 0 } }
const pieces = chunked(openai.events.map(event => Buffer.from(event)))
const json = ['content-type', 'application/json']
const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

async function start(t: Test, limits: ConfigSections) {
  const upstream = await startRawUpstream(t, ({ path, body }) => {
    if (body.includes('"stream":true')) return { pieces: [head, ...pieces.slice(0, 2)] }
    const call = dialectCalls.find(one => one.path(false) === path) ?? openai
    return plainAnswer(200, json, call.document)
  })
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { admin, limits }) })
  return { upstream, gateway, endStreams: () => endAll(upstream.openSockets) }
}

function endAll(sockets: Iterable<{ write(bytes: Buffer): unknown }>): void {
  for (const socket of sockets) socket.write(Buffer.concat(pieces.slice(2)))
}

function ask(gateway: TestGateway, call: DialectCall = openai, key = gateway.key): Promise<ClientAnswer> {
  return send(gateway.url + call.path(false), {
    headers: [...call.keyHeader(key), ...json],
    body: call.body(false),
  })
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

async function level(gateway: TestGateway): Promise<number> {
  const text = await (await fetch(`${gateway.gateway.adminUrl}/metrics`)).text()
  return Number(/^gateway_overload_level (\d)$/m.exec(text)?.[1])
}

/** The reasons that the log gives for the levels. */
function reasons(gateway: TestGateway): string[] {
  return gateway.logLines
    .map(line => JSON.parse(line) as { level: number; because?: readonly string[] })
    .flatMap(({ because = [] }) => because)
}

/** Checks that new requests are shed in every dialect, and that nothing is held or sent for them. */
async function checkShed(t: Test, gateway: TestGateway, sent: () => number): Promise<void> {
  const before = { sent: sent(), held: (await gateway.balance()).heldMicros }
  for (const call of dialectCalls) {
    const shed = await ask(gateway, call)
    t.match(shed, { status: 503, isWhole: true }, call.name)
    t.ok(Number(shed.headers['retry-after']) > 0)
    t.match(shed.body.toString(), call.errorBody)
  }
  t.same({ sent: sent(), held: (await gateway.balance()).heldMicros }, before)
}

async function checkWhole(t: Test, stream: RawClient): Promise<void> {
  await until(() => parseAnswers(stream.received())[0]?.isWhole === true)
  t.equal(
    parseAnswers(stream.received())[0]?.body.toString(),
    openai.events.join(''),
    'a running stream completes',
  )
  stream.socket.destroy()
}

await t.test('new requests are shed while memory is beyond its limit', async t => {
  // This process already uses more than nine tenths of that.
  const memoryBytesMax = Math.floor(process.memoryUsage.rss() / 2)
  const { upstream, gateway, endStreams } = await start(t, { memoryBytesMax })
  await until(async () => (await level(gateway)) === 2)
  const stream = await openStream(t, gateway)
  t.pass('with nothing open a request is admitted, or none ever would be')

  await checkShed(t, gateway, () => upstream.requests.length)
  endStreams()
  await checkWhole(t, stream)

  await settled(gateway, 4)
  t.same(reasons(gateway), ['memory'])
  t.equal((await gateway.charges()).length, 1)
  await checkMoney(t, gateway)
})

await t.test('new requests are shed while timers are late', async t => {
  const { upstream, gateway, endStreams } = await start(t, { loopDelayMsMax: 60 })
  const stream = await openStream(t, gateway)
  // Every turn of the event loop takes longer than the limit of late timers, and leaves room for the requests.
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const blocking = setInterval(() => Atomics.wait(cell, 0, 0, 250), 1)
  t.teardown(() => clearInterval(blocking))
  await until(async () => (await level(gateway)) === 2, 20_000)

  await checkShed(t, gateway, () => upstream.requests.length)
  clearInterval(blocking)
  endStreams()
  await checkWhole(t, stream)

  // On a machine that is busy with other things it may take a while.
  await until(async () => (await ask(gateway)).status === 200, 20_000)
  t.ok(reasons(gateway).includes('loopDelay'))
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.equal((await gateway.charges()).length, 2)
  await checkMoney(t, gateway)
})

await t.test('new requests are shed while writes wait for the ledger', async t => {
  const { upstream, gateway, endStreams } = await start(t, { writesWaitingMax: 30 })
  const stream = await openStream(t, gateway)
  const database = openForWriting(gateway.storeFile)
  database.exec('BEGIN IMMEDIATE')
  // From now on requests wait for their hold to be on disk.
  const waiting: Promise<ClientAnswer>[] = []
  const askUntil = async (wanted: number): Promise<void> => {
    await until(async () => {
      if ((await level(gateway)) >= wanted) return true
      for (let count = 0; count < 5; count += 1) waiting.push(ask(gateway))
      await new Promise(resolve => setTimeout(resolve, 120))
      return false
    }, 20_000)
  }

  await askUntil(1)
  for (const call of dialectCalls) {
    const shed = await ask(gateway, call, 'gw-unknown')
    t.match(shed, { status: 503, headers: { connection: 'close' } }, `an unknown key: ${call.name}`)
  }
  await askUntil(2)
  await checkShed(t, gateway, () => upstream.requests.length)

  database.exec('ROLLBACK')
  database.close()
  const statuses = new Map<number, number>()
  for (const { status } of await Promise.all(waiting)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const servedCount = statuses.get(200) ?? 0
  t.ok(servedCount >= 30, `${servedCount} were admitted and served`)
  t.equal(servedCount + (statuses.get(503) ?? 0), waiting.length)
  endStreams()
  await checkWhole(t, stream)
  await until(async () => (await level(gateway)) === 0)
  t.equal((await ask(gateway)).status, 200)
  t.same([...new Set(reasons(gateway))], ['writes'])
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.equal((await gateway.charges()).length, servedCount + 2)
  await checkMoney(t, gateway)
})
