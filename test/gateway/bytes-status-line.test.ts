import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const lines: Readonly<Record<string, string>> = {
  '200 Fine': '200 Fine',
  '201 It is made, "so"': '201 It is made, "so"',
  '400 Wrong\tmodel': '400 Wrong\tmodel',
  '529 Site Is Overloaded': '529 Site Is Overloaded',
  // A phrase that node:http cannot write, or that clients may misread, is replaced by Node's phrase for the status.
  '200 ': '200 OK',
  '404 caf\u00e9': '404 Not Found',
}

await t.test('a status line that arrives in two segments is relayed whole', async t => {
  const upstream = await startRawUpstream(t, async () => {
    for (const socket of upstream.openSockets) socket.write('HTTP/1.1 200 O')
    await delay(40)
    return { pieces: [Buffer.from('K\r\ncontent-length: 2\r\n\r\n{}')] }
  })
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { isolation: 'off' }),
  })
  const request =
    `GET /v1/responses/resp_1 HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${gateway.key}\r\n` +
    'connection: close\r\n\r\n'

  const { bytes } = await sendRaw(t, gateway.url, request)

  t.match(bytes.toString('latin1'), /^HTTP\/1\.1 200 OK\r\n/)
  t.same(await gateway.charges(), [])
})

for (const call of dialectCalls) {
  await t.test(`${call.name}: the provider's reason phrase is relayed`, async t => {
    let line = ''
    const upstream = await startRawUpstream(t, () => ({
      pieces: [
        Buffer.from(
          `HTTP/1.1 ${line}\r\ncontent-length: ${Buffer.byteLength(call.document)}\r\n\r\n`,
          'latin1',
        ),
        Buffer.from(call.document),
      ],
    }))
    const gateway = await startTestGateway(t, {
      config: callConfig(upstream.origin, { failover: { on: [] } }),
    })
    const body = call.body(false)
    const [name, value] = call.keyHeader(gateway.key)
    const request =
      `POST ${call.path(false)} HTTP/1.1\r\nhost: gateway\r\n${name}: ${value}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

    for (const [sent, expected] of Object.entries(lines)) {
      line = sent
      const { bytes } = await sendRaw(t, gateway.url, request)
      t.equal(bytes.subarray(0, bytes.indexOf('\r\n')).toString('latin1'), `HTTP/1.1 ${expected}`)
      t.equal(parseAnswers(bytes)[0]?.body.toString(), call.document)
    }

    const paid = (await gateway.charges()).filter(({ amount }) => Number(amount) > 0)
    t.equal(paid.length, 3, 'each success is charged once')
    t.same(await gateway.breaches(), [])
  })
}
