import { connect, type Socket } from 'node:net'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess, type ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const pieces = chunked(openai.events.map(event => Buffer.from(event)))

const ask = (gateway: ServedProcess) =>
  send(`${gateway.url}/v1/chat/completions`, {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(false),
  })

await t.test(
  'fault 53: without a free descriptor new connections are closed, and running streams continue',
  async t => {
    const upstream = await startRawUpstream(t, ({ body }) =>
      body.includes('"stream":true')
        ? {
            pieces: [
              headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
              ...pieces.slice(0, 2),
            ],
          }
        : plainAnswer(200, [], openai.document),
    )
    const gateway = await serveProcess(t, {
      config: callConfig(upstream.origin),
      prefix: ['sh', '-c', 'ulimit -n 100; exec "$@"', 'sh'],
    })
    const body = openai.body(true)
    const stream = await connectRaw(t, gateway.url)
    stream.socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    )
    await stream.waitFor('upon a time')

    const port = Number(new URL(gateway.url).port)
    let closed = 0
    const sockets: Socket[] = Array.from({ length: 300 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined) // Its close event counts it.
      socket.on('close', () => (closed += 1))
      return socket
    })
    await until(() => closed > 150, 8000)

    t.equal(gateway.child.exitCode, null, 'the process runs')
    for (const socket of upstream.openSockets) socket.write(Buffer.concat(pieces.slice(2)))
    await stream.waitFor('[DONE]')
    for (const socket of sockets) socket.destroy()
    await until(async () => (await ask(gateway).catch(() => undefined))?.status === 200)
    await until(async () => (await gateway.heldMicros()) === 0)
    t.equal((await gateway.charges()).length, 2)
    t.same(await gateway.breaches(), [])
    gateway.child.kill('SIGTERM')
    t.equal(await gateway.exited, 0)
  },
)
