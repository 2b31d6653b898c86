import { once } from 'node:events'
import { createServer, type AddressInfo, type LookupFunction, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { EgressError } from '../../../lib/upstream/egress-error.ts'
import { openTunnel } from '../../../lib/upstream/open-tunnel.ts'
import { startSocksEgress } from '../../fixtures/socks-egress.ts'
import { startRawUpstream } from '../../fixtures/raw-upstream.ts'
import {
  providerHost,
  providerTls,
  trustTestAuthority,
  type CertificateName,
} from '../../fixtures/tls-upstream.ts'

trustTestAuthority()

/** A proxy that sends `answer` to each client in many small pieces, and records the bytes it received. */
async function startScripted(
  t: Test,
  answer: string | Buffer,
  then?: 'end',
): Promise<{ port: number; received: () => string }> {
  const sockets = new Set<Socket>()
  let received = ''
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('data', () => void sendInPieces(socket, Buffer.from(answer), then))
    socket.on('data', chunk => (received += chunk.toString('latin1')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, received: () => received }
}

async function sendInPieces(socket: Socket, answer: Buffer, then: 'end' | undefined): Promise<void> {
  // Byte by byte, or in at most 500 pieces, so that it does not take long.
  const length = Math.ceil(answer.length / 500)
  for (let at = 0; at < answer.length; at += length) {
    socket.write(answer.subarray(at, at + length))
    await new Promise(resolve => setImmediate(resolve))
  }
  if (then === 'end') socket.end()
}

const end = { hostname: 'provider.example', port: 443 }

await t.test('CONNECT: the head is read in any pieces, and the bytes after it are kept', async t => {
  const proxy = await startScripted(t, 'HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\nhello')
  const url = new URL(`http://us%20er:p%40ss@127.0.0.1:${proxy.port}`)
  const socket = await openTunnel({ name: 'p', url }, end, 1000)
  t.teardown(() => socket.destroy())
  let got = ''
  socket.on('data', chunk => (got += chunk.toString()))
  socket.resume()
  while (got.length < 5) await once(socket, 'data')
  t.equal(got, 'hello')
  t.equal(
    proxy.received(),
    'CONNECT provider.example:443 HTTP/1.1\r\nHost: provider.example:443\r\n' +
      `Proxy-Authorization: Basic ${Buffer.from('us er:p@ss').toString('base64')}\r\n\r\n`,
  )
})

await t.test('CONNECT brackets an IPv6 address, and sends no credentials without a user', async t => {
  const proxy = await startScripted(t, 'HTTP/1.0 200 OK\r\n\r\n')
  const socket = await openTunnel(
    { name: 'p', url: new URL(`http://127.0.0.1:${proxy.port}`) },
    { hostname: '2001:db8::1', port: 8443 },
    1000,
  )
  socket.destroy()
  t.equal(proxy.received(), 'CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n\r\n')
})

const broken: Readonly<Record<string, readonly [string | Buffer, RegExp, 'end'?]>> = {
  'http 407': ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', /user and password \(407\)/],
  // As tinyproxy responds.
  'http 401': ['HTTP/1.1 401 Unauthorized\r\n\r\n', /user and password \(401\)/],
  'http 502': ['HTTP/1.1 502 Bad Gateway\r\n\r\n', /CONNECT with 502/],
  'http none': ['SSH-2.0-OpenSSH\r\n\r\n', /does not speak HTTP/],
  'http silence': ['', /did not answer in 150 ms/],
  'http half': ['HTTP/1.1 200 OK\r\n', /closed/, 'end'],
  'http flood': [Buffer.alloc(17_000, 'a'), /over 16384 bytes/],
  'socks5 none': ['HTTP/1.1 400 Bad Request\r\n\r\n', /does not speak SOCKS5/],
  'https none': ['HTTP/1.1 400 Bad Request\r\n\r\n', /does not speak TLS \(/],
  'socks5 method': [Buffer.from([5, 0xff]), /another kind of authentication/],
  'socks5 silence': ['', /did not answer in 150 ms/],
  'socks5 refused': [Buffer.from([5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0]), /connection refused/],
  'socks5 cut': [Buffer.from([5, 0, 5]), /closed/, 'end'],
}

for (const [name, [answer, message, then]] of Object.entries(broken)) {
  await t.test(`${name}: no tunnel opens, and the error has the reason but no password`, async t => {
    const proxy = await startScripted(t, answer, then)
    const url = new URL(`${name.split(' ')[0]}://user:secret@127.0.0.1:${proxy.port}`)
    const timeoutMs = name.endsWith('silence') ? 150 : 5000
    const error = await openTunnel({ name: 'fi-1', url }, end, timeoutMs).catch((caught: unknown) => caught)
    t.ok(error instanceof EgressError)
    t.match(String(error), message)
    t.match(String(error), /fi-1/)
    t.notMatch(String(error), /secret/)
  })
}

await t.test('a proxy that requires a user has an error of its own', async t => {
  const answers: Readonly<Record<string, string | Buffer>> = {
    http: 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
    socks5: Buffer.from([5, 0xff]),
  }
  for (const [protocol, answer] of Object.entries(answers)) {
    const proxy = await startScripted(t, answer)
    const url = new URL(`${protocol}://127.0.0.1:${proxy.port}`)
    await t.rejects(
      openTunnel({ name: 'fi-1', url }, end, 1000),
      /requires a user and a password, and its URL has/,
    )
  }
})

await t.test('a password without a user is sent too', async t => {
  const proxy = await startScripted(t, 'HTTP/1.1 200 OK\r\n\r\n')
  const socket = await openTunnel(
    { name: 'p', url: new URL(`http://:token@127.0.0.1:${proxy.port}`) },
    end,
    1000,
  )
  socket.destroy()
  t.match(proxy.received(), `Proxy-Authorization: Basic ${Buffer.from(':token').toString('base64')}\r\n`)
})

/** Resolves a name to both loopback addresses. */
const twoAddresses: LookupFunction = (_name, options, callback) => {
  if (options.all === true)
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ])
  else callback(null, '127.0.0.1', 4)
}

await t.test('the error of a proxy with several addresses has the reason of each', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')

  const url = new URL(`http://proxy.example:${port}`)
  await t.rejects(openTunnel({ name: 'fi-1', url, lookup: twoAddresses }, end, 1000), {
    message: new RegExp(`^The egress fi-1 failed\\. connect ECONNREFUSED 127\\.0\\.0\\.1:${port}; `),
  })
})

await t.test('CONNECT goes to an HTTPS proxy inside TLS, if its certificate is accepted', async t => {
  const secrets: string[] = []
  const start = async (certificate: CertificateName): Promise<URL> => {
    const server = createTlsServer(providerTls(certificate), socket => {
      socket.on('error', () => socket.destroy())
      socket.once('data', chunk => {
        secrets.push(chunk.toString())
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    return new URL(`https://user:secret@${providerHost}:${(server.address() as AddressInfo).port}`)
  }
  const socket = await openTunnel({ name: 'p', url: await start('good'), lookup: twoAddresses }, end, 5000)
  socket.destroy()
  t.match(secrets, [/^CONNECT provider\.example:443 HTTP\/1\.1\r\n/])
  for (const certificate of ['expired', 'wrong-host', 'self-signed'] as const) {
    const url = await start(certificate)
    await t.rejects(openTunnel({ name: 'p', url, lookup: twoAddresses }, end, 5000), {
      message: /^The egress p failed\. Its own certificate is not accepted \(\w+\)\.$/,
    })
  }
  t.equal(secrets.length, 1, 'the other proxies do not receive the password')
})

await t.test('SOCKS5 supports names, IPv4 and IPv6 addresses', async t => {
  const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
  const proxy = await startSocksEgress(t)
  const port = Number(new URL(upstream.origin).port)
  for (const hostname of ['provider.example', '203.0.113.7', '2001:db8::ff:1']) {
    const socket = await openTunnel({ name: 'p', url: new URL(proxy.url) }, { hostname, port }, 1000)
    socket.destroy()
  }
  t.same(proxy.connects, [
    `domain provider.example:${port}`,
    `ipv4 203.0.113.7:${port}`,
    `ipv6 20010db8000000000000000000ff0001:${port}`,
  ])
})
