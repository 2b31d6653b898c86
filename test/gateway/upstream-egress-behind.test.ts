import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer } from '../fixtures/raw-upstream.ts'
import { startSocksEgress } from '../fixtures/socks-egress.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'
import { startTlsUpstream, trustTestAuthority } from '../fixtures/tls-upstream.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const answer = () => plainAnswer(200, ['content-type', 'application/json'], openai.document)

trustTestAuthority()

/** A server that runs `serve` for each connection. @returns its port */
async function startServer(t: Test, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function intercepting(t: Test, certificate: 'self-signed' | 'wrong-host'): Promise<number> {
  return Number(new URL((await startTlsUpstream(t, answer, certificate)).origin).port)
}

interface Alarm {
  readonly alarm?: string
  readonly reason?: string
}

function egressAlarms(gateway: TestGateway): Alarm[] {
  return gateway.logLines
    .map(line => JSON.parse(line) as Alarm)
    .filter(({ alarm = '' }) => alarm.startsWith('egress_'))
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** The end of a tunnel, and the reason that the alarm gives. */
const ends: Readonly<Record<string, readonly [(t: Test) => Promise<number>, RegExp]>> = {
  'an interceptor of TLS': [
    t => intercepting(t, 'self-signed'),
    /has no valid certificate of provider\.example \(DEPTH_ZERO_SELF_SIGNED_CERT\): someone intercepts the traffic/,
  ],
  'another host': [
    t => intercepting(t, 'wrong-host'),
    /has no valid certificate of provider\.example \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
  ],
  'a page of the proxy': [
    t => startServer(t, socket => socket.write('HTTP/1.1 200 OK\r\n\r\nBuy more traffic')),
    /the bytes that came back are not TLS \(ERR_SSL_/,
  ],
  'a closed connection': [
    t => startServer(t, socket => socket.destroy()),
    /TLS with provider\.example failed/,
  ],
  silence: [t => startServer(t, () => undefined), /TLS with provider\.example failed: .*Timeout/],
}

for (const [name, [start, reason]] of Object.entries(ends)) {
  await t.test(
    `a proxy whose tunnels end at ${name} is not used until a request through it succeeds`,
    async t => {
      const upstream = await startTlsUpstream(t, answer)
      const bad = await startSocksEgress(t)
      bad.leadsTo = await start(t)
      const good = await startSocksEgress(t)
      const gateway = await startBehind(t, upstream.publicOrigin, { bad: bad.url, good: good.url }, [
        { name: 'bad', weight: 9 },
        'good',
      ])

      t.equal((await askOnce(gateway)).status, 200)
      t.match(await settled(gateway, 1), [{ egress: 'good', attempts: 2 }])
      // Its first pause ends after a second: one request probes the proxy, the other does not wait for it.
      await sleep(1200)
      const both = await Promise.all([askOnce(gateway), askOnce(gateway)])
      t.same(
        both.map(({ status }) => status),
        [200, 200],
      )
      const attempts = (await settled(gateway, 3)) as unknown as { attempts: number }[]
      t.same(
        attempts.map(end => end.attempts).toSorted((one, other) => one - other),
        [1, 2, 2],
      )
      t.match(egressAlarms(gateway), [{ alarm: 'egress_down', reason }])
      t.equal(egressAlarms(gateway).length, 1, 'opening a tunnel does not count as recovery')

      bad.leadsTo = undefined
      await sleep(2400)
      t.equal((await askOnce(gateway)).status, 200)
      t.match((await settled(gateway, 4))[3], { egress: 'bad', attempts: 1 })
      await until(() => egressAlarms(gateway).length === 2)
      t.match(egressAlarms(gateway)[1], { alarm: 'egress_up' })
      t.equal(upstream.requests.length, 4, 'each was sent once')
      t.equal((await gateway.charges()).length, 4)
      await checkMoney(t, gateway)
    },
  )
}

await t.test('concurrent failures lengthen the pause of a proxy no more than one does', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const bad = await startSocksEgress(t)
  bad.reply = 1
  const good = await startSocksEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { bad: bad.url, good: good.url }, [
    { name: 'bad', weight: 99 },
    'good',
  ])

  const answers = await Promise.all(Array.from({ length: 12 }, () => askOnce(gateway)))
  bad.reply = 0

  t.ok(answers.every(({ status }) => status === 200))
  const began = performance.now()
  await until(() => egressAlarms(gateway).length === 2)
  t.ok(performance.now() - began < 10_000, 'after a second or so, and not a minute')
  await settled(gateway, 12)
  t.equal((await gateway.charges()).length, 12)
  await checkMoney(t, gateway)
})
