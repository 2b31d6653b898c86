import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { createHttpServer } from '../../../lib/listener/http-server.ts'
import { loopWork } from '../../fixtures/loop-work.ts'

const bounds = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  connectionsMax: 1000,
}

interface Server {
  readonly counts: { handled: number; open: number; openMost: number }
  readonly open: () => Socket
}

/** A server of the gateway, with the number of requests that its handler received and has open. */
async function start(
  t: Test,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  const counts = { handled: 0, open: 0, openMost: 0 }
  const server = createHttpServer({
    bounds,
    ownerOf: () => 'everybody',
    handle(request, response) {
      counts.handled += 1
      counts.open += 1
      counts.openMost = Math.max(counts.openMost, counts.open)
      response.once('close', () => (counts.open -= 1))
      handle(request, response)
    },
    upgrades: {
      accepts: request => request.url === '/upgrade',
      handle: (_request, socket, head) =>
        socket.end(`HTTP/1.1 101 Switching\r\n\r\n${head.toString('latin1')}`),
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    counts,
    open() {
      const socket = connect(port, '127.0.0.1')
      t.teardown(() => socket.destroy())
      socket.on('error', () => undefined) // The tests check what the socket received.
      return socket.setEncoding('latin1')
    },
  }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: g\r\n\r\n`
const post = (body: string): string =>
  `POST / HTTP/1.1\r\nhost: g\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** The bytes received until the given number of responses has arrived. */
async function readResponses(socket: Socket, count: number): Promise<string> {
  let received = ''
  for await (const chunk of socket as AsyncIterable<string>) {
    received += chunk
    if (received.split('HTTP/1.1 200').length > count) break
  }
  return received
}

function echoBody(bodies: string[]) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    let body = ''
    request.setEncoding('latin1').on('data', (text: string) => (body += text))
    request.on('end', () => {
      bodies.push(body)
      setTimeout(() => response.end('ok'), 5)
    })
  }
}

await t.test('all pipelined requests are answered in order, at most eight at once', async t => {
  const { counts, open } = await start(t, (request, response) => {
    // Long enough for node:http to apply backpressure.
    setTimeout(() => response.end(`<${request.url}>${'.'.repeat(20_000)}`), 1)
  })
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}`)
  const socket = open()
  socket.write(paths.map(get).join(''))

  const received = await readResponses(socket, 100)

  t.strictSame(
    [...received.matchAll(/<(\/\d+)>/g)].map(([, path]) => path),
    paths,
  )
  t.ok(counts.openMost <= 8, `${counts.openMost} at once`)
})

await t.test('bodies are complete, wherever the segments are cut', async t => {
  const bodies: string[] = []
  const { open } = await start(t, echoBody(bodies))
  const sent = ['', 'hello', '\r\n\r\n'.repeat(20_000), get('/inside').repeat(50), 'b'.repeat(300_000), 'end']
  const bytes = sent.map(post).join('')

  for (const pieceBytes of [bytes.length, 65_536, 1000, 7]) {
    bodies.length = 0
    const socket = open()
    const piece = pieceBytes === 7 ? bytes.slice(0, 2000) : bytes
    for (let at = 0; at < piece.length; at += pieceBytes) {
      if (!socket.write(piece.slice(at, at + pieceBytes))) await once(socket, 'drain')
      if (pieceBytes === 7) await delay(0)
    }
    if (pieceBytes === 7) {
      await delay(100)
      t.strictSame(bodies, sent.slice(0, 2), 'an incomplete body does not end')
    } else {
      await readResponses(socket, sent.length)
      t.strictSame(bodies, sent, `pieces of ${pieceBytes}`)
    }
    socket.destroy()
  }
})

await t.test('a request whose body arrives later is handled in its order', async t => {
  const bodies: string[] = []
  const { open } = await start(t, echoBody(bodies))
  const socket = open()
  const long = 'b'.repeat(300_000)
  const last = post(long)

  socket.write(get('/') + post('hello') + last.slice(0, 70))
  setTimeout(() => socket.write(last.slice(70) + get('/')), 10)
  await readResponses(socket, 4)

  t.strictSame(bodies, ['', 'hello', long, ''])
})

await t.test('waiting requests are bounded, however many a client sends', async t => {
  const { counts, open } = await start(t, (_, response) => {
    setTimeout(() => {
      response.write('a'.repeat(40_000))
      response.end('b')
    }, 2)
  })
  const socket = open()
  const many = Buffer.from(get('/').repeat(1000))
  let sentBytes = 0
  const write = (): void => {
    while (socket.writable && socket.write(many)) sentBytes += many.length
  }
  socket.on('drain', write)
  socket.resume()
  write()
  const before = process.memoryUsage().rss
  await delay(500)

  t.ok(counts.handled > 20, `${counts.handled} were handled`)
  t.ok(counts.openMost <= 8, `${counts.openMost} at once`)
  t.ok(sentBytes < 16_000_000, `${sentBytes} bytes were accepted`)
  t.ok(process.memoryUsage().rss - before < 100_000_000)
})

await t.test('2,500 requests in one segment never block the event loop for 30 ms', async t => {
  const { open } = await start(t, (_, response) => response.end())
  const socket = open()
  socket.resume()
  await once(socket, 'connect')
  const iterationsMs: number[] = []
  let before = process.threadCpuUsage()
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before)
    iterationsMs.push((user + system) / 1000)
    before = process.threadCpuUsage()
  }, 1)

  // A busy machine may spoil a round, but not all of them.
  const leastMs: number[] = []
  for (let round = 0; round < 3; round += 1) {
    iterationsMs.length = 0
    await loopWork(async () => {
      socket.write('GET / HTTP/1.1\r\nhost:\r\n\r\n'.repeat(2500))
      await delay(100)
    }, 1)
    leastMs.push(Math.max(...iterationsMs))
  }
  clearInterval(timer)
  t.ok(Math.min(...leastMs) < 30, `${leastMs.map(ms => ms.toFixed(1)).join(', ')} ms`)
})

await t.test('other connections are handled while one is full of requests', async t => {
  const { open } = await start(t, (request, response) => {
    const until = performance.now() + 0.2
    while (performance.now() < until);
    response.end(`<${request.url}>`)
  })
  const flood = open()
  flood.resume()
  flood.write(get('/flood').repeat(2000))
  await delay(5)

  const other = open()
  other.write(get('/other'))
  const [received] = (await once(other, 'data')) as [string]
  t.match(received, '</other>')
  t.ok(flood.bytesRead < 300_000, `${flood.bytesRead} bytes of the flood's responses came before`)
})

await t.test('waiting requests of a client that leaves are dropped', async t => {
  const { counts, open } = await start(t, (_, response) => {
    setTimeout(() => response.end('a'), 20)
  })
  const socket = open()
  socket.write(get('/').repeat(50))
  await once(socket, 'data')
  socket.resetAndDestroy()
  await delay(200)
  const { handled } = counts
  await delay(200)

  t.ok(handled < 50, `${handled} were handled`)
  t.equal(counts.handled, handled)
})

await t.test('all bytes behind an upgrade in its segment go to the new protocol', async t => {
  const { open } = await start(t, (_, response) => response.end('ok'))
  const upgrade = 'GET /upgrade HTTP/1.1\r\nhost: g\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
  for (const behind of ['', 'abc', '\r\n\r\nabc', `a${'\r\n\r\n'.repeat(100)}b`]) {
    const socket = open()
    socket.write(`${upgrade}${behind}`)
    let received = ''
    for await (const chunk of socket as AsyncIterable<string>) received += chunk
    t.ok(received.endsWith(`101 Switching\r\n\r\n${behind}`), JSON.stringify(behind.slice(0, 10)))
  }
})

await t.test('an upgrade behind a pending request is a plain request, and the last one', async t => {
  const { open, counts } = await start(t, (request, response) => {
    setTimeout(() => response.end(`<${request.url}>`), 5)
  })
  const socket = open()
  const upgrade = 'GET /upgrade HTTP/1.1\r\nhost: g\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
  socket.write(get('/1') + upgrade + get('/2'))
  let received = ''
  for await (const chunk of socket as AsyncIterable<string>) received += chunk

  t.strictSame(received.match(/<[^>]*>/g), ['</1>', '</upgrade>'])
  t.equal(counts.handled, 2)
})

await t.test('requests of 32 connections at once take at most four iterations of the loop', async t => {
  const iterations = new Set<number>()
  let iteration = 0
  const count = (): void => {
    iteration += 1
    immediate = setImmediate(count)
  }
  let immediate = setImmediate(count)
  t.teardown(() => clearImmediate(immediate))
  const { open } = await start(t, (_, response) => {
    iterations.add(iteration)
    const until = performance.now() + 0.05
    while (performance.now() < until);
    response.end('ok')
  })
  const sockets = Array.from({ length: 32 }, open)
  await Promise.all(sockets.map(socket => once(socket, 'connect')))

  // All are written in one iteration, and the kernel delivers them together unless the machine is busy.
  let fewest = Infinity
  for (let round = 0; round < 50 && fewest > 4; round += 1) {
    iterations.clear()
    for (const socket of sockets) socket.write(get('/'))
    await Promise.all(sockets.map(socket => once(socket, 'data')))
    fewest = Math.min(fewest, iterations.size)
  }
  t.ok(fewest <= 4, `${fewest} iterations`)
})
