import type { Socket } from 'node:net'
import t from 'tap'
import type { WebSocket } from 'ws'
import { startAccountArea } from '../fixtures/account-area.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { inDatabase } from '../fixtures/in-database.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { connectRaw, sendRaw } from '../fixtures/raw-client.ts'
import { startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openSession } from '../fixtures/session-client.ts'
import { startSessionGateway } from '../fixtures/session-gateway.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// Errors on the wire, of sessions and of the database may not log words of a prompt or of a response.

const prompt = 'Xantippe-prompt'
const response = 'Quetzal-response'

/** The canaries that a log contains, as text, in base64 or as the numbers of their bytes. */
function found(lines: readonly string[]): readonly string[] {
  const log = lines.join('')
  return [prompt, response]
    .flatMap(canary => [canary, btoa(canary).slice(0, -3), [...Buffer.from(canary.slice(0, 8))].join(',')])
    .filter(text => log.includes(text))
}

await t.test('requests that break on the wire leave nothing of their bodies in the log', async t => {
  const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { log: { level: 'trace' } }),
  })
  const [openai] = dialectCalls
  const head =
    `POST ${openai?.path(false)} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
    'content-type: application/json\r\n'
  const text = `{"model":"test-model","messages":[{"role":"user","content":"${prompt}"}]}`
  const chunk = `${text.length.toString(16)}\r\n${text}\r\n`
  for (const broken of [
    `${head}transfer-encoding: chunked\r\n\r\n${chunk}zz${prompt}\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\n5\r\n${text}`,
    `${head}transfer-encoding: chunked\r\n\r\n${chunk}0\r\n${prompt}\r\n\r\n`,
    `${head}content-length: 5\r\n\r\n${text}`,
    `${head}content-length: 5\r\ncontent-length: 6\r\n\r\n${text}`,
    `${head}x ${prompt}\r\n\r\n${text}`,
    `${head}x: ${prompt}\0\r\n\r\n${text}`,
    `${prompt}\r\n\r\n${text}`,
    `${head}content-encoding: gzip\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  ]) {
    const { bytes } = await sendRaw(t, gateway.url, broken)
    t.match(bytes.toString('latin1'), /^HTTP\/1.1 [45]/, broken.slice(head.length, head.length + 30))
  }
  const cut = await connectRaw(t, gateway.url)
  cut.socket.write(`${head}content-length: 1000\r\n\r\n${text}`)
  cut.socket.destroy()
  await until(() => gateway.logLines.some(line => line.includes('aborted')))

  t.same(found(gateway.logLines), [])
})

await t.test('sessions that break leave nothing of their messages in the log', async t => {
  let breakOff: (socket: WebSocket) => void = socket => socket.close()
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      socket.send(JSON.stringify({ type: 'session.created', session: { instructions: response } }))
      socket.on('message', () => {
        socket.send(JSON.stringify({ type: 'error', error: { message: response } }))
        breakOff(socket)
      })
    },
    { config: { log: { level: 'trace' } } },
  )
  const raw = (bytes: Buffer) => (socket: WebSocket) =>
    void (socket as unknown as { _socket: Socket })._socket.write(bytes)
  const ends: Readonly<Record<string, typeof breakOff>> = {
    'a reason': socket => socket.close(1008, response),
    'no JSON': socket => {
      socket.send(response)
      socket.close()
    },
    'truncated JSON': socket => {
      socket.send(`{"type":"response.done","response":{"usage":${response}`)
      socket.close()
    },
    'a frame with a reserved opcode': raw(
      Buffer.concat([Buffer.from([0x8b, response.length]), Buffer.from(response)]),
    ),
    'no UTF-8': raw(Buffer.concat([Buffer.from([0x81, response.length + 1, 0xff]), Buffer.from(response)])),
  }
  for (const [name, end] of Object.entries(ends)) {
    breakOff = end
    const session = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    session.socket.send(JSON.stringify({ type: 'session.update', session: { instructions: prompt } }))
    await until(() => session.socket.readyState === session.socket.CLOSED).catch(() => t.fail(name))
  }
  for (const text of [prompt, `{"type":"${prompt}`, `{"type":"${prompt}","type":"x"}`]) {
    const session = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    breakOff = socket => socket.close()
    session.socket.send(text)
    session.socket.close(3008, prompt)
    await until(() => session.socket.readyState === session.socket.CLOSED)
  }
  await until(() => gateway.logLines.filter(line => line.includes('"outcome"')).length >= 8)

  t.same(found(gateway.logLines), [])
})

await t.test('the details of a row that the database refuses are not logged', async t => {
  const server = await startPostgres(t)
  const store = await server.createDatabase()
  const area = await startAccountArea(t, { store, log: { level: 'trace' } })
  await inDatabase(store, async client => {
    for (const table of ['users', 'user_passwords', 'user_verifications'])
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT nothing_more CHECK (id = '') NOT VALID`)
  })
  const email = `${prompt.toLowerCase()}@example.org`
  const fields = { email, password: `${response} ${response}`, offer: 'yes', personalData: 'yes' }

  const { status } = await area.browser().post('/sign-up', fields)

  t.ok(status >= 500, String(status))
  const log = area.test.logLines.join('')
  t.match(log, 'nothing_more', 'the error is logged')
  t.notOk(log.toLowerCase().includes(prompt.toLowerCase()))
  t.same(found(area.test.logLines), [])
})
