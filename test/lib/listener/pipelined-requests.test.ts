import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import { PipelinedRequests } from '../../../lib/listener/pipelined-requests.ts'

/** A server that waits between two requests of a connection, and what it was given. */
async function start(t: Test, accept: (request: IncomingMessage, response: ServerResponse) => void) {
  const counts = { parsed: 0, accepted: 0, open: 0, openMost: 0 }
  const requests = new PipelinedRequests((request, response) => {
    counts.accepted += 1
    counts.open += 1
    counts.openMost = Math.max(counts.openMost, counts.open)
    response.once('finish', () => (counts.open -= 1))
    accept(request, response)
  })
  const server = createServer((request, response) => {
    counts.parsed += 1
    requests.take(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  return { counts, socket }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: g\r\n\r\n`

await t.test('pipelined requests are met one after another, all of them, in order', async t => {
  const { counts, socket } = await start(t, (request, response) => {
    // As long a body as keeps node:http counting what is to be written.
    setTimeout(() => response.end(`<${request.url}>${'.'.repeat(20_000)}`), 1)
  })
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}`)
  socket.write(paths.map(get).join(''))

  let received = ''
  for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) {
    received += chunk
    if (received.split('<').length === 101 && received.endsWith('.'.repeat(20_000))) break
  }

  t.strictSame(
    [...received.matchAll(/<(\/\d+)>/g)].map(([, path]) => path),
    paths,
  )
  t.ok(counts.openMost <= 10, `${counts.openMost} at once`)
})

await t.test('a request with a body that comes later is met when it is its turn', async t => {
  const bodies: string[] = []
  const { socket } = await start(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      bodies.push(body)
      setTimeout(() => response.end('ok'), 20)
    })
  })
  const long = 'b'.repeat(300_000)
  const post = (length: number): string => `POST / HTTP/1.1\r\nhost: g\r\ncontent-length: ${length}\r\n\r\n`

  socket.write(`${get('/')}${post(5)}hello${post(long.length)}${long.slice(0, 10)}`)
  setTimeout(() => socket.write(long.slice(10) + get('/')), 10)
  let received = ''
  for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) {
    received += chunk
    if (received.split('200 OK').length === 5) break
  }

  t.strictSame(bodies, ['', 'hello', long, ''])
})

await t.test('what waits is bounded, however much is sent', async t => {
  const { counts, socket } = await start(t, (_, response) => {
    setTimeout(() => {
      response.write('a'.repeat(40_000))
      response.end('b')
    }, 2)
  })
  const many = Buffer.from(get('/').repeat(1000))
  const write = (): void => {
    while (socket.writable && socket.write(many));
  }
  socket.on('drain', write)
  socket.resume()
  write()
  let waitedMost = 0
  for (let round = 0; round < 50; round += 1) {
    await new Promise(resolve => setTimeout(resolve, 10))
    waitedMost = Math.max(waitedMost, counts.parsed - counts.accepted)
  }

  t.ok(counts.accepted > 20, `${counts.accepted} were met`)
  t.ok(waitedMost > 0 && waitedMost < 4000, `${waitedMost} waited at most: what one segment holds`)
  t.ok(counts.openMost <= 10, `${counts.openMost} at once`)
})

await t.test('a client that leaves takes what waits with it', async t => {
  const { counts, socket } = await start(t, (_, response) => {
    setTimeout(() => response.end('a'), 20)
  })
  socket.write(get('/').repeat(50))
  await once(socket, 'data')
  socket.resetAndDestroy()
  await new Promise(resolve => setTimeout(resolve, 200))
  const accepted = counts.accepted
  await new Promise(resolve => setTimeout(resolve, 200))

  t.ok(accepted < 50, `${accepted} were met`)
  t.equal(counts.accepted, accepted)
})
