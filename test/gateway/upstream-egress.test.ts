import t from 'tap'
import { dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { askOnce, startBehind } from '../fixtures/egress-gateway.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { chunked, headLines, plainAnswer } from '../fixtures/raw-upstream.ts'
import { startSocksEgress } from '../fixtures/socks-egress.ts'
import { until } from '../fixtures/until.ts'
import {
  providerHost,
  startTlsUpstream,
  trustTestAuthority,
  type CertificateName,
} from '../fixtures/tls-upstream.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const json = ['content-type', 'application/json']
const answer = () => plainAnswer(200, json, openai.document)

trustTestAuthority()
// Variables for curl and other tools; the gateway uses only its config.
process.env['HTTP_PROXY'] = process.env['HTTPS_PROXY'] = 'http://127.0.0.1:9'
process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'

await t.test('requests are sent through an HTTP proxy with a user and a password', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const proxy = await startHttpEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': proxy.url })

  const got = await askOnce(gateway)

  t.equal(got.status, 200, got.body.toString())
  t.equal(got.body.toString(), openai.document)
  t.same(proxy.methods, ['CONNECT'], 'the proxy sees nothing but CONNECT')
  t.same(proxy.connects, [new URL(upstream.publicOrigin).host], 'the name is resolved at the proxy')
  t.equal(upstream.requests.length, 1)
  t.notOk(
    upstream.requests[0]?.headers.some(value => value.includes('Basic ')),
    'the password of the proxy is not sent to the provider',
  )
  const [end] = await settled(gateway, 1)
  t.match(end, { outcome: 'completed', egress: 'fi-1', attempts: 1 })
  t.notOk(gateway.logLines.some(line => line.includes('p%40ss') || line.includes('p@ss')))
  await checkMoney(t, gateway)
})

await t.test('requests are sent through a SOCKS5 proxy, with and without a user', async t => {
  const upstream = await startTlsUpstream(t, answer)
  for (const proxy of [await startSocksEgress(t), await startSocksEgress(t, 'gäte', 'p@ss word')]) {
    const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': proxy.url })
    const got = await askOnce(gateway)
    t.equal(got.status, 200, got.body.toString())
    t.same(proxy.connects, [`domain ${new URL(upstream.publicOrigin).host}`], 'the name is resolved there')
    await settled(gateway, 1)
    await checkMoney(t, gateway)
  }
})

for (const certificate of ['expired', 'wrong-host', 'self-signed'] satisfies CertificateName[]) {
  await t.test(`fault 4: an invalid certificate (${certificate}) receives no key`, async t => {
    const upstream = await startTlsUpstream(t, answer, certificate)
    const http = await startHttpEgress(t)
    const socks = await startSocksEgress(t)
    for (const url of [http.url, socks.url]) {
      const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': url })
      const got = await askOnce(gateway)
      t.equal(got.status, 502)
      t.match(got.body.toString(), /upstream_unreachable/)
      await settled(gateway, 1)
      t.same(await gateway.charges(), [])
      await checkMoney(t, gateway)
    }
    t.equal(upstream.requests.length, 0)
    t.notOk(Buffer.concat(upstream.received).includes(providerCredential))
  })
}

await t.test('a proxy that is unreachable or refuses is skipped before anything is sent', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const good = await startHttpEgress(t)
  const gone = await startHttpEgress(t)
  await gone.stop()
  const refusing = await startSocksEgress(t)
  refusing.reply = 2
  const wrong = good.url.replace(/:[^:@]+@/, ':wrong@')
  for (const [name, url] of Object.entries({ gone: gone.url, refusing: refusing.url, wrong })) {
    const before = upstream.requests.length
    // By its weight the bad one is tried first.
    const gateway = await startBehind(t, upstream.publicOrigin, { bad: url, good: good.url }, [
      { name: 'bad', weight: 9 },
      'good',
    ])
    for (let count = 1; count <= 3; count += 1) {
      const got = await askOnce(gateway)
      t.equal(got.status, 200, `${name}: ${got.body.toString()}`)
    }
    t.equal(upstream.requests.length, before + 3, 'each was sent once')
    const ends = await settled(gateway, 3)
    t.match(ends[0], { attempts: 2, egress: 'good' })
    t.match(ends[1], { attempts: 1, egress: 'good' }, 'the bad one is not used')
    const attempts = gateway.logLines.map(line => JSON.parse(line) as object).filter(line => 'result' in line)
    t.match(attempts, [
      { msg: 'attempt', egress: 'bad', result: 'upstream_unreachable' },
      { msg: 'attempt', egress: 'good', result: 'relayed' },
    ])
    t.ok(gateway.logLines.some(line => line.includes('"alarm":"egress_down"')))
    t.equal((await gateway.charges()).length, 3)
    await checkMoney(t, gateway)
  }
})

await t.test('when every proxy fails, nothing is sent by another route', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const one = await startHttpEgress(t)
  const other = await startHttpEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { one: one.url, other: other.url })
  await one.stop()
  await other.stop()

  const got = await askOnce(gateway)

  t.equal(got.status, 502)
  t.match(got.body.toString(), /upstream_unreachable/)
  t.equal(upstream.openSockets.size, 0)
  t.equal(upstream.received.length, 0)
  await settled(gateway, 1)
  t.same(await gateway.charges(), [])
  await checkMoney(t, gateway)
})

await t.test('a failed proxy is used again once it opens a tunnel, without a request', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const first = await startHttpEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { 'fi-1': first.url })
  await first.stop()
  t.equal((await askOnce(gateway)).status, 502)
  const again = await startHttpEgress(t, { port: first.port })

  await until(() => gateway.logLines.some(line => line.includes('"alarm":"egress_up"')))

  t.ok(again.connects.length >= 1, 'the check opened a tunnel to the provider')
  t.equal(upstream.requests.length, 0, 'and sent the provider nothing')
  t.notOk(Buffer.concat(upstream.received).length > 0)
  t.equal((await askOnce(gateway)).status, 200)
  await settled(gateway, 2)
  await checkMoney(t, gateway)
})

await t.test('the provider is reachable only through a proxy: its name does not resolve here', async t => {
  const upstream = await startTlsUpstream(t, answer)
  const gateway = await startBehind(t, upstream.publicOrigin, {}, ['direct'])
  const got = await askOnce(gateway)
  t.equal(got.status, 502, `${providerHost} cannot be resolved here`)
  t.match(got.body.toString(), /upstream_unreachable/)
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

await t.test(
  'when a proxy dies in the middle of a response, the response is cut and not retried',
  async t => {
    const begun = Buffer.concat([
      headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
      ...chunked(openai.events.slice(0, 2).map(event => Buffer.from(event))).slice(0, -1),
    ])
    const upstream = await startTlsUpstream(t, () => ({ pieces: [begun] }))
    const dying = await startHttpEgress(t)
    const other = await startSocksEgress(t)
    const gateway = await startBehind(t, upstream.publicOrigin, { dying: dying.url, other: other.url })
    const answering = send(gateway.url + openai.path(true), {
      headers: [...openai.keyHeader(gateway.key), ...json],
      body: openai.body(true),
    })
    await until(() => upstream.requests.length === 1)
    await new Promise(resolve => setTimeout(resolve, 50))
    await dying.stop()

    const got = await answering
    t.equal(got.isWhole, false, 'it does not look complete')
    t.ok(got.body.toString().startsWith(openai.events.slice(0, 2).join('')))
    t.equal(upstream.requests.length, 1)
    t.match(await settled(gateway, 1), [{ outcome: 'broken', egress: 'dying', attempts: 1 }])
    t.equal((await gateway.charges()).length, 1)
    await checkMoney(t, gateway)
  },
)

await t.test('when a proxy dies before the response, the request is not sent again', async t => {
  const upstream = await startTlsUpstream(t, () => new Promise(() => undefined))
  const dying = await startHttpEgress(t)
  const other = await startSocksEgress(t)
  const gateway = await startBehind(t, upstream.publicOrigin, { dying: dying.url, other: other.url })
  const answering = askOnce(gateway)
  await until(() => upstream.requests.length === 1)
  await dying.stop()

  const got = await answering
  t.equal(got.status, 502)
  t.match(got.body.toString(), /upstream_failed/)
  t.equal(upstream.requests.length, 1)
  t.same(other.connects, [])
  await settled(gateway, 1)
  t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
  await checkMoney(t, gateway)
})
