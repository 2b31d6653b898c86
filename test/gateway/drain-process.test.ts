import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { connectRaw, type RawClient } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { serveProcess, type ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'
import type { Test } from 'tap'

const [openai] = dialectCalls as readonly [DialectCall]
const pieces = chunked(openai.events.map(event => Buffer.from(event)))

async function startUpstream(t: Test): Promise<RawUpstream> {
  return await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...pieces.slice(0, 2),
          ],
        }
      : plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
}

function ask(gateway: ServedProcess, fault = 'none'): Promise<ClientAnswer> {
  return send(`${gateway.url}/v1/chat/completions`, {
    headers: [...openai.keyHeader(gateway.key), 'x-fault', fault],
    body: openai.body(false),
  })
}

async function openStream(t: Test, gateway: ServedProcess): Promise<RawClient> {
  const body = openai.body(true)
  const client = await connectRaw(t, gateway.url)
  client.socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  await client.waitFor('upon a time')
  return client
}

async function ready(gateway: ServedProcess): Promise<number> {
  return (await fetch(`${gateway.adminUrl}/readyz`)).status
}

await t.test(
  'fault 51: SIGTERM drains; a second one exits within a minute, with the charge and code 0',
  async t => {
    const upstream = await startUpstream(t)
    const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
    const stream = await openStream(t, gateway)

    gateway.child.kill('SIGTERM')
    await until(async () => (await ready(gateway)) === 503)
    t.equal((await ask(gateway)).status, 200, 'requests are served while balancers still send them')
    gateway.child.kill('SIGHUP')
    const begun = performance.now()
    gateway.child.kill('SIGTERM')

    t.equal(await gateway.exited, 0)
    t.ok(performance.now() - begun < 60_000, 'long before the ten minutes of a drain')
    t.equal(await stream.ended, 'reset')
    t.match(await gateway.charges(), [
      { outcome: 'completed' },
      { outcome: 'broken', usageSource: 'estimated' },
    ])
    t.equal(await gateway.heldMicros(), 0)
    t.same(await gateway.breaches(), [])
    t.match(gateway.lines().at(-1), { msg: 'stopped' })
  },
)

await t.test('fault 51: SIGTERM during the start exits in order', async t => {
  const upstream = await startUpstream(t)
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
  const again = await import('node:child_process').then(({ spawn }) =>
    spawn(process.execPath, ['bin/gateway.ts', 'serve', '--config', gateway.configFile], { stdio: 'ignore' }),
  )
  t.teardown(() => again.kill('SIGKILL'))
  await new Promise(resolve => setTimeout(resolve, 250))
  again.kill('SIGTERM')
  const [code, signal] = await new Promise<[number | null, string | null]>(resolve =>
    again.once('exit', (code, signal) => resolve([code, signal])),
  )
  t.ok(
    code === 0 || signal === 'SIGTERM',
    'it exits in order, or by the signal before its handler is installed',
  )
  t.same(await gateway.breaches(), [])
})

await t.test('fault 56: a failing hook affects no other request', async t => {
  const upstream = await startUpstream(t)
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin), isFaulty: true })

  for (const fault of ['throw', 'reject']) {
    const failed = await ask(gateway, fault)
    t.match(failed, { status: 500, isWhole: true, headers: { 'x-should-retry': 'false' } })
    t.match(failed.body.toString(), /"code":"internal"/)
    t.notMatch(failed.body.toString(), /slip/, 'the error is only logged')
  }
  t.equal(upstream.requests.length, 0)
  for (const fault of ['response', 'tap', 'end', 'none']) {
    const answer = await ask(gateway, fault)
    t.match(answer, { status: 200, isWhole: true }, fault)
    t.equal(answer.body.toString(), openai.document)
  }

  await until(async () => (await gateway.heldMicros()) === 0)
  t.equal((await gateway.charges()).length, 4)
  t.same(await gateway.breaches(), [])
  t.equal(await ready(gateway), 200)
  const failedLines = () => gateway.lines().filter(line => line['msg'] === 'a plugin failed')
  await until(() => failedLines().length >= 3)
  const failed = failedLines()
  t.same(
    failed.map(line => line['hook']),
    ['onResponse', 'onData', 'onEnd'],
  )
})

for (const fault of ['uncaught', 'unhandled']) {
  await t.test(
    `fault 56: after an ${fault} error running streams end and are charged, and the process exits with 1`,
    async t => {
      const upstream = await startUpstream(t)
      const gateway = await serveProcess(t, { config: callConfig(upstream.origin), isFaulty: true })
      const stream = await openStream(t, gateway)

      const answer = await ask(gateway, fault)

      t.match(answer, { status: 200, isWhole: true })
      await until(async () => (await ready(gateway)) === 503)
      for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
      t.equal(await stream.ended, 'end')
      t.match(stream.received().toString(), '[DONE]')
      t.equal(await gateway.exited, 1)
      t.match(
        gateway.lines().find(line => line['level'] === 'fatal'),
        { error: { type: 'TypeError', stack: /faulty-gateway/ } },
      )
      t.match(await gateway.charges(), [{ outcome: 'completed' }, { outcome: 'completed' }])
      t.equal(await gateway.heldMicros(), 0)
      t.same(await gateway.breaches(), [])
    },
  )
}

await t.test('fault 55: an event loop that is blocked for two seconds fails no request', async t => {
  const { spawn } = await import('node:child_process')
  // A provider in a process of its own responds while the gateway is blocked.
  const provider = spawn(process.execPath, [
    '-e',
    `require('http').createServer((q, r) => { q.resume(); setTimeout(() => r.end(process.argv[1]), 400) })
      .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`,
    openai.document,
  ])
  t.teardown(() => provider.kill('SIGKILL'))
  const port = await new Promise<string>(resolve =>
    provider.stdout.once('data', (text: Buffer) => resolve(text.toString().trim())),
  )
  const timeouts = { connectMs: 1500, firstByteMs: 1500, silenceMs: 1500 }
  const gateway = await serveProcess(t, {
    config: callConfig(`http://127.0.0.1:${port}`, { timeouts }),
    isFaulty: true,
  })

  const others = Array.from({ length: 10 }, () => ask(gateway))
  const answers = await Promise.all([ask(gateway, 'block'), ...others])

  t.same(
    answers.map(answer => answer.status),
    answers.map(() => 200),
  )
  await until(async () => (await gateway.heldMicros()) === 0)
  t.equal((await gateway.charges()).length, 11)
  t.ok((await gateway.charges()).every(charge => charge.flags.length === 0 && Number(charge.amount) > 0))
  t.same(await gateway.breaches(), [])
  t.equal((await ask(gateway)).status, 200, 'one pause is no overload')
})
