import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startAccountArea } from '../fixtures/account-area.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'

// Every listener refuses what two servers could read in two ways, and reads nothing after it: a client that shares a
// connection of a proxy in front with others could otherwise receive their responses, or respond to them.

const json = ['content-type', 'application/json']
const upstream = await startRawUpstream(t, () => plainAnswer(200, json, '{}'))
const { test: gateway, url: accountArea } = await startAccountArea(t, {
  ...callConfig(upstream.origin),
  admin: { listen: { host: '127.0.0.1', port: 0 } },
  operatorArea: { listen: { host: '127.0.0.1', port: 0 } },
})

/** Each listener, a path on it that is served, and a target for forms or bodies. */
const listeners = [
  { name: 'API', url: gateway.url, path: '/v1/models', form: '/v1/chat/completions' },
  { name: 'account area', url: accountArea, path: '/sign-in', form: '/sign-in' },
  {
    name: "operators' pages",
    url: gateway.gateway.operatorAreaUrl ?? '',
    path: '/sign-in',
    form: '/sign-in',
  },
  { name: 'admin', url: gateway.gateway.adminUrl ?? '', path: '/healthz', form: '/healthz' },
] as const

/** Requests by their first line and headers, `$` for the path; none of them is served. */
const doubtful: Readonly<Record<string, readonly [line: string, ...headers: string[]]>> = {
  RTSP: ['GET $ RTSP/1.0', 'host: a'],
  'RTSP with a body': ['POST $ RTSP/1.0', 'host: a', 'content-length: 0'],
  'a method of RTSP': ['DESCRIBE $ RTSP/1.0', 'host: a'],
  Icecast: ['SOURCE $ ICE/1.0', 'host: a'],
  'HTTP/2.0': ['GET $ HTTP/2.0', 'host: a'],
  'HTTP/1.2': ['GET $ HTTP/1.2', 'host: a'],
  'HTTP/0.9': ['GET $ HTTP/0.9', 'host: a'],
  'HTTP/0.9 as it was': ['GET $'],
  'the preface of HTTP/2': ['PRI * HTTP/2.0'],
  'two blanks before the target': ['GET  $ HTTP/1.1', 'host: a'],
  'two blanks after the target': ['GET $  HTTP/1.1', 'host: a'],
  'many blanks': ['GET      $      HTTP/1.1', 'host: a'],
  'two blanks after an empty line': ['\r\n\r\nGET  $ HTTP/1.1', 'host: a'],
  'two blanks in HTTP/1.0': ['GET  $ HTTP/1.0', 'host: a'],
  'a tab': ['GET\t$ HTTP/1.1', 'host: a'],
  'a blank before the method': [' GET $ HTTP/1.1', 'host: a'],
  'a blank after the version': ['GET $ HTTP/1.1 ', 'host: a'],
  'a target with a blank': ['GET $ x HTTP/1.1', 'host: a'],
  'a method in lower case': ['get $ HTTP/1.1', 'host: a'],
  'an unknown method': ['FETCH $ HTTP/1.1', 'host: a'],
  'two Hosts': ['GET $ HTTP/1.1', 'host: a', 'host: b'],
  'two equal Hosts': ['GET $ HTTP/1.1', 'host: a', 'Host: a'],
  'two Hosts in HTTP/1.0': ['GET $ HTTP/1.0', 'host: a', 'host: b'],
  'no Host': ['GET $ HTTP/1.1'],
  'an invalid Host': ['GET $ HTTP/1.1', 'host: a/b'],
  'a Host with a user': ['GET $ HTTP/1.1', 'host: a@b'],
  'two lengths': ['POST $ HTTP/1.1', 'host: a', 'content-length: 0', 'content-length: 0'],
  'a length and a coding': ['POST $ HTTP/1.1', 'host: a', 'content-length: 0', 'transfer-encoding: chunked'],
  'a signed length': ['POST $ HTTP/1.1', 'host: a', 'content-length: +0'],
  'two codings': ['POST $ HTTP/1.1', 'host: a', 'transfer-encoding: gzip, chunked'],
  'an unknown coding': ['POST $ HTTP/1.1', 'host: a', 'transfer-encoding: x'],
  'a coding in HTTP/1.0': ['POST $ HTTP/1.0', 'host: a', 'transfer-encoding: chunked'],
  'a blank before the colon': ['POST $ HTTP/1.1', 'host: a', 'content-length : 0'],
  'a folded line': ['GET $ HTTP/1.1', 'host: a', 'x: 1', ' y: 2'],
  'a NUL': ['GET $ HTTP/1.1', 'host: a', 'x: 1\0'],
  'a bare carriage return': ['GET $ HTTP/1.1', 'host: a', 'x: 1\ry: 2'],
  'a bare line feed': ['GET $ HTTP/1.1\nhost: a'],
  'a body of GET': ['GET $ HTTP/1.1', 'host: a', 'content-length: 3'],
  'a chunked body of GET': ['GET $ HTTP/1.1', 'host: a', 'transfer-encoding: chunked'],
  'a header that is longer than the limit of all': ['GET $ HTTP/1.1', 'host: a', `x: ${'a'.repeat(17_000)}`],
  'more headers than node:http reports': [
    'GET $ HTTP/1.1',
    'host: a',
    ...Array.from({ length: 1200 }, () => 'a: b'),
  ],
  CONNECT: ['CONNECT a:443 HTTP/1.1', 'host: a'],
  'another expectation': ['POST $ HTTP/1.1', 'host: a', 'expect: 200-ok', 'content-length: 0'],
}
const refusals: ReadonlySet<number> = new Set([400, 405, 417, 431])

for (const { name, url, path, form } of listeners) {
  const good = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`

  await t.test(`${name}: ${Object.keys(doubtful).length} ambiguous requests are refused`, async t => {
    for (const [attack, [line, ...headers]] of Object.entries(doubtful)) {
      const head = [line.replace('$', line.startsWith('POST') ? form : path), ...headers].join('\r\n')
      const { bytes, end } = await sendRaw(t, url, Buffer.from(`${head}\r\n\r\n${good}`, 'latin1'))
      const statuses = parseAnswers(bytes).map(({ status }) => status)
      t.ok(refusals.has(statuses[0] ?? 0), `${attack}: ${statuses[0]}`)
      t.equal(statuses.length, 1, `${attack}: nothing after it gets a response`)
      t.equal(end, 'end', `${attack}: the connection is closed`)
    }
    t.equal(upstream.requests.length, 0)
  })

  await t.test(`${name}: an ambiguous line is refused after valid requests of the same segment`, async t => {
    for (const line of [`GET  ${path} HTTP/1.1`, `GET ${path} RTSP/1.0`]) {
      for (const count of [1, 2, 40]) {
        const client = await connectRaw(t, url)
        client.socket.write(`${good.repeat(count)}${line}\r\nhost: a\r\n\r\n${good}`)
        await client.ended
        const statuses = parseAnswers(client.received()).map(({ status }) => status)
        t.same(statuses, [...Array.from({ length: count }, () => 200), 400], `${line} behind ${count}`)
      }
    }
  })

  await t.test(`${name}: a plain request is served, in however many segments it arrives`, async t => {
    for (const pieces of [
      [good],
      [`\r\n${good}`],
      [good, good],
      [good + good],
      [good.slice(0, 3), good.slice(3)],
      [good.slice(0, path.length), good.slice(path.length)],
      [good.slice(0, -2), `\r\n${good}`],
      [...good],
      [
        `GET ${path} HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`,
      ],
    ]) {
      const client = await connectRaw(t, url)
      for (const piece of pieces) {
        client.socket.write(piece)
        await delay(1)
      }
      await client.waitFor('\r\n\r\n')
      client.socket.end()
      await client.ended
      const expectedCount = pieces.join('').split('HTTP/1.').length - 1
      t.same(
        parseAnswers(client.received()).map(({ status }) => status),
        Array.from({ length: expectedCount }, () => 200),
      )
    }
  })

  await t.test(`${name}: nothing is read after an upgrade that is ignored`, async t => {
    for (const upgrade of ['h2c', 'websocket', 'TLS/1.0']) {
      const head = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\n`
      const { bytes, end } = await sendRaw(
        t,
        url,
        `${head}connection: upgrade\r\nupgrade: ${upgrade}\r\n\r\n${good}`,
      )
      t.equal(parseAnswers(bytes).length, 1, upgrade)
      t.equal(end, 'end')
    }
  })

  await t.test(`${name}: an invalid next request does not replace the response before it`, async t => {
    const { bytes } = await sendRaw(t, url, `${good}GARBAGE\r\n\r\n`)
    t.same(
      parseAnswers(bytes).map(({ status }) => status),
      [200, 400],
    )
  })
}

for (const { name, url } of listeners.slice(1, 3)) {
  await t.test(`${name}: a refusal without a page is not cached and not sniffed as HTML`, async t => {
    const refusals = [
      [405, 'TRACE /sign-in HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'],
      [405, 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'],
      [400, 'GET /sign-in HTTP/1.1\r\nbroken header\r\n\r\n'],
      [400, 'POST /sign-in HTTP/1.1\r\nhost: a\r\nexpect: nonsense\r\ncontent-length: 0\r\n\r\n'],
      [431, `GET /sign-in HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`],
    ] as const
    for (const [status, request] of refusals) {
      const [answer] = parseAnswers((await sendRaw(t, url, request)).bytes)
      const line = request.slice(0, 40)
      t.equal(answer?.status, status, line)
      t.equal(answer?.headers.get('x-content-type-options'), 'nosniff', line)
      t.equal(answer?.headers.get('cache-control'), 'no-store', line)
    }
  })
}

await t.test('a WebSocket after a pending request is refused, and ends no other request', async t => {
  const { bytes, end } = await sendRaw(
    t,
    gateway.url,
    `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\n\r\n` +
      `GET /v1/realtime?model=others HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\nconnection: upgrade\r\n` +
      `upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==\r\n\r\n`,
  )
  const statuses = parseAnswers(bytes).map(({ status }) => status)
  t.equal(statuses.length, 2)
  t.ok((statuses[1] ?? 0) >= 400, String(statuses[1]))
  t.equal(end, 'end')
})

await t.test('a refused WebSocket reports what is wrong with its first line', async t => {
  const { bytes } = await sendRaw(
    t,
    gateway.url,
    `GET  /v1/realtime?model=others HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\nconnection: upgrade\r\n` +
      `upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==\r\n\r\n`,
  )
  const [answer] = parseAnswers(bytes)
  t.equal(answer?.status, 400)
  t.match(answer?.body.toString(), /one blank/)
})
