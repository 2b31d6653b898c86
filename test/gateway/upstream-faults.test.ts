import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { headLines, plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { Worker } from 'node:worker_threads'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const served = (): RawAnswer => plainAnswer(200, json, openai.document)

async function startOne(t: Test, origin: string): Promise<TestGateway> {
  const models = { '*': { provider: 'openai', rubPerMillion: { input: '1000', output: '1000' } } }
  return await startTestGateway(t, {
    config: callConfig(origin, { timeouts: { firstByteMs: 3000 } }, { models }),
    rub: 100_000,
  })
}

async function ask(gateway: TestGateway, body = openai.body(false)): Promise<ClientAnswer> {
  return await send(gateway.url + openai.path(false), {
    headers: [...openai.keyHeader(gateway.key), ...json],
    body,
  })
}

/** A provider in a thread of its own that closes every connection that was idle for `idleMs`. */
async function startForgetful(t: Test, idleMs: number) {
  const answer = (served().pieces[0] as Buffer).toString()
  const file = new URL('../fixtures/forgetful-provider.ts', import.meta.url)
  const worker = new Worker(file, { workerData: { answer, idleMs } })
  t.teardown(() => worker.terminate())
  const [port] = (await once(worker, 'message')) as [number]
  return {
    origin: `http://127.0.0.1:${port}`,
    async seen(): Promise<string[]> {
      worker.postMessage('end')
      return ((await once(worker, 'message')) as [string[]])[0]
    },
  }
}

await t.test(
  'fault 7: connections that the provider closes at their reuse cause no repeated request',
  async t => {
    const count = 3000
    const idleMs = 5
    const provider = await startForgetful(t, idleMs)
    const gateway = await startOne(t, provider.origin)
    let next = 0
    const statuses = new Map<string, number>()
    const worker = async (): Promise<void> => {
      while (next < count) {
        const id = `r${next++}`
        const answer = await ask(gateway, openai.body(false).replace(/\}$/, `,"user":"${id}"}`))
        statuses.set(id, answer.status)
        if (answer.status !== 200) {
          t.equal(answer.status, 502, answer.body.toString())
          t.match(answer.body.toString(), /upstream_failed/, 'something was written')
        }
        // Around the time at which the provider closes the connection.
        await new Promise(resolve => setTimeout(resolve, idleMs - 2 + Math.random() * 4))
      }
    }
    await Promise.all(Array.from({ length: 16 }, worker))

    t.equal(statuses.size, count)
    const log = await provider.seen()
    const seen = new Set(log)
    t.equal(seen.size, log.length, 'no request arrived twice')
    const answered = [...statuses].filter(([, status]) => status === 200).map(([id]) => id)
    t.comment(`${count - answered.length} of ${count} met a connection that was closing`)
    t.ok(answered.length > count / 2)
    t.ok(answered.every(id => seen.has(id)))
    await settled(gateway, count)
    const charges = await gateway.chargesOfWork()
    t.equal(charges.filter(({ usage }) => usage['output'] === 34).length, answered.length)
    await checkMoney(t, gateway)
  },
)

await t.test('fault 9: interim responses do not affect the final one', async t => {
  const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  const upstream = await startRawUpstream(t, () => ({ pieces: [Buffer.from(interim), ...served().pieces] }))
  const gateway = await startOne(t, upstream.origin)
  for (let count = 0; count < 2; count += 1) {
    const answer = await ask(gateway)
    t.equal(answer.status, 200)
    t.equal(answer.body.toString(), openai.document)
  }
  await settled(gateway, 2)
  t.equal((await gateway.chargesOfWork()).length, 2)
  await checkMoney(t, gateway)
})

await t.test('fault 10: a response before the end of the request reaches the client', async t => {
  const refusal = '{"error":{"message":"too large","type":"invalid_request_error"}}'
  const body = openai.body(false).replace('Tell me', `${'x'.repeat(30_000_000)} Tell me`)
  for (const [status, end] of [
    [413, 'keep'],
    [413, 'end'],
    [500, 'keep'],
  ] as const) {
    const sockets = new Set<Socket>()
    const server = createServer(socket => {
      sockets.add(socket)
      let received = 0
      let hasAnswered = false
      socket.on('error', () => socket.destroy())
      socket.on('data', chunk => {
        received += chunk.length
        if (hasAnswered || received < 1_000_000) return
        hasAnswered = true
        const answer = plainAnswer(status, json, refusal).pieces[0] as Buffer
        if (end === 'keep') socket.write(answer)
        else socket.end(answer)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const gateway = await startOne(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const answer = await ask(gateway, body)
    t.equal(answer.status, status, `${status} ${end}: ${answer.body.toString()}`)
    t.equal(answer.body.toString(), refusal)
    await settled(gateway, 1)
    t.same(await gateway.chargesOfWork(), [])
    await checkMoney(t, gateway)
  }
})

await t.test('fault 11: heads up to 64 KB are relayed, larger ones are 502', async t => {
  const long = (bytes: number): string[] =>
    Array.from({ length: bytes / 1000 }, (_, index) => [`x-h${index}`, 'v'.repeat(980)]).flat()
  let headers = long(50_000)
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [...json, ...headers], openai.document))
  const gateway = await startOne(t, upstream.origin)
  const body = openai.body(false)
  const [name, value] = openai.keyHeader(gateway.key)
  const { bytes } = await sendRaw(
    t,
    gateway.url,
    `POST ${openai.path(false)} HTTP/1.1\r\nhost: g\r\nconnection: close\r\n${name}: ${value}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const [whole] = parseAnswers(bytes)
  t.equal(whole?.status, 200)
  t.equal(whole?.body.toString(), openai.document)
  for (const tooLong of [long(90_000), ['set-cookie', 'c'.repeat(70_000)]]) {
    headers = tooLong
    const answer = await ask(gateway)
    t.equal(answer.status, 502)
    t.match(answer.body.toString(), /upstream_failed/)
  }
  headers = []
  t.equal((await ask(gateway)).status, 200)
  await settled(gateway, 4)
  await checkMoney(t, gateway)
})

const framed = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(openai.document)}\r\n`
const malformed: Readonly<Record<string, string>> = {
  'an invalid status line': `HTTP/1.1 two hundred\r\n${framed}\r\n`,
  'no status line': `hello\r\n\r\n`,
  'a folded header': `HTTP/1.1 200 OK\r\nx-a: b\r\n c: d\r\n${framed}\r\n`,
  'a length and a coding': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${framed}\r\n`,
  'two lengths': `HTTP/1.1 200 OK\r\ncontent-length: 3\r\n${framed}\r\n`,
  'a negative length': `HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n`,
  'a NUL in a header': `HTTP/1.1 200 OK\r\nx-a: b\0c\r\n${framed}\r\n`,
  'a space before the colon': `HTTP/1.1 200 OK\r\nx-a : b\r\n${framed}\r\n`,
  'an unrequested upgrade': 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
}

for (const [name, head] of Object.entries(malformed)) {
  await t.test(`fault 12: ${name} is 502, and the connection is not reused`, async t => {
    const upstream = await startRawUpstream(t, () => ({
      pieces: [Buffer.from(head + openai.document, 'latin1')],
    }))
    const gateway = await startOne(t, upstream.origin)
    const answer = await ask(gateway)
    t.equal(answer.status, 502, answer.body.toString().slice(0, 200))
    t.match(answer.body.toString(), /upstream_failed/)
    await until(() => upstream.openSockets.size === 0)
    upstream.answer = served
    const next = await ask(gateway)
    t.equal(next.status, 200)
    t.equal(next.body.toString(), openai.document)
    await settled(gateway, 2)
    await checkMoney(t, gateway)
  })
}

await t.test('fault 13: an unrequested response is relayed to no client', async t => {
  const stray = plainAnswer(200, json, '{"stray":true}').pieces[0] as Buffer
  const upstream = await startRawUpstream(t, served)
  const gateway = await startOne(t, upstream.origin)
  for (const delayMs of [0, 20]) {
    upstream.answer = () => ({
      pieces: served().pieces,
      before: async () => {
        await new Promise(resolve => setTimeout(resolve, delayMs))
        for (const socket of upstream.openSockets) socket.write(stray)
      },
    })
    t.equal((await ask(gateway)).body.toString(), openai.document)
    await new Promise(resolve => setTimeout(resolve, 50))
    upstream.answer = served
    const answer = await ask(gateway)
    t.equal(answer.status, 200)
    t.equal(answer.body.toString(), openai.document)
  }
  await settled(gateway, 4)
  t.equal((await gateway.chargesOfWork()).length, 4)
  await checkMoney(t, gateway)
})

await t.test('fault 15: a redirect is relayed and never followed', async t => {
  const elsewhere = await startRawUpstream(t, served)
  const upstream = await startRawUpstream(t, () => ({
    pieces: [headLines(307, ['location', `${elsewhere.origin}/v1/chat/completions`, 'content-length', '0'])],
  }))
  const gateway = await startOne(t, upstream.origin)
  const answer = await ask(gateway)
  t.equal(answer.status, 307)
  t.equal(elsewhere.requests.length, 0)
  t.notOk(Buffer.concat(elsewhere.received).includes(providerCredential))
  await settled(gateway, 1)
  t.same(await gateway.chargesOfWork(), [])
  await checkMoney(t, gateway)
})

await t.test(
  'fault 18: a stall in the middle ends by the timeout of the provider; comments keep the stream alive',
  async t => {
    const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
    const chunk = (text: string): Buffer =>
      Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
    const upstream = await startRawUpstream(t, () => ({ pieces: [head, chunk(openai.events[0] as string)] }))
    const models = { '*': { provider: 'openai', rubPerMillion: { input: '1000', output: '1000' } } }
    const timeouts = { firstByteMs: 3000, silenceMs: 1500 }
    const gateway = await startTestGateway(t, {
      config: callConfig(upstream.origin, { timeouts }, { models }),
    })
    const beats = setInterval(() => {
      for (const socket of upstream.openSockets) socket.write(chunk(': alive\n\n'))
    }, 200)
    setTimeout(() => clearInterval(beats), 3500)
    const begun = performance.now()
    const answer = await send(gateway.url + openai.path(true), {
      headers: [...openai.keyHeader(gateway.key), ...json],
      body: openai.body(true),
    })
    t.equal(answer.isWhole, false)
    t.ok(performance.now() - begun > 4500, 'comments count as activity')
    t.ok(answer.body.toString().startsWith(openai.events[0] as string))
    await until(() => upstream.openSockets.size === 0)
    t.match(await settled(gateway, 1), [{ outcome: 'broken' }])
    await checkMoney(t, gateway)
  },
)
