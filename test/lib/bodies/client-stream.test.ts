import { once } from 'node:events'
import { createServer, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ClientStream } from '../../../lib/bodies/client-stream.ts'
import { GatewayError } from '../../../lib/pipeline/errors.ts'
import { until } from '../../fixtures/until.ts'

interface Arrived {
  readonly request: IncomingMessage
  readonly client: ClientRequest
  /** Sends the response, and resolves with the body that the client receives. */
  readonly respond: (text: string) => Promise<string>
}

/** A request whose head has arrived; the test sends the body. */
async function arrive(t: Test): Promise<Arrived> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const client = httpRequest({ port, host: '127.0.0.1', method: 'POST', agent: false })
  client.on('error', () => undefined)
  client.write('begun ')
  const [request, response] = (await once(server, 'request')) as [
    IncomingMessage,
    { end(text: string): void },
  ]
  return {
    request,
    client,
    async respond(text) {
      response.end(text)
      const [received] = (await once(client, 'response')) as [IncomingMessage]
      return Buffer.concat(await received.toArray()).toString()
    },
  }
}

async function failureOf(stream: ClientStream): Promise<unknown> {
  try {
    await stream.toArray()
  } catch (error) {
    return (error as Error).cause
  }
  return undefined
}

await t.test('a watcher sees every byte once, and the end before the provider does', async t => {
  const { request, client } = await arrive(t)
  const seen: string[] = []
  let begun = 0
  const watcher = {
    onData: (chunk: Buffer) => void seen.push(chunk.toString()),
    onEnd: () => void seen.push('end'),
  }
  const stream = new ClientStream({ request, watchers: [watcher], onBegin: () => (begun += 1) })
  t.equal(begun, 0, 'the client is not read before the stream is')
  client.end('and ended')
  const all = Buffer.concat(await stream.toArray())
  t.equal(all.toString(), 'begun and ended')
  t.equal(seen.join(''), 'begun and endedend')
  t.equal(begun, 1)
})

await t.test('a watcher that refuses ends the body, and a response can still be sent', async t => {
  for (const hook of ['onData', 'onEnd'] as const) {
    const { request, client, respond } = await arrive(t)
    const refusal = new GatewayError('media_too_long', 'The video is too long.')
    const refuse = (): never => {
      throw refusal
    }
    const watcher = { onData: () => undefined, [hook]: refuse }
    const stream = new ClientStream({ request, watchers: [watcher] })
    client.end('more')
    t.equal(await failureOf(stream), refusal)
    t.equal(await respond('refused'), 'refused')
  }
})

await t.test(
  'a chunk that a watcher holds back passes when released, and later chunks follow it',
  async t => {
    const { request, client } = await arrive(t)
    const { promise: first, resolve: letGo } = Promise.withResolvers<void>()
    const { promise: last, resolve: letEnd } = Promise.withResolvers<void>()
    const seen: string[] = []
    const watcher = {
      onData(chunk: Buffer): Promise<void> | void {
        seen.push(chunk.toString())
        return seen.length === 1 ? first : undefined
      },
      onEnd: () => last,
    }
    const stream = new ClientStream({ request, watchers: [watcher], silenceMs: 30 })
    const passed: string[] = []
    const ended = once(stream, 'end')
    stream.on('data', (chunk: Buffer) => passed.push(chunk.toString()))
    await until(() => seen.length === 1)
    client.end('and ended')
    await new Promise(resolve => setTimeout(resolve, 50))
    t.same(seen, ['begun '], 'the client is not read meanwhile, and its silence does not count')
    t.same(passed, [])
    letGo()
    await until(() => passed.length === 2)
    t.same(passed, ['begun ', 'and ended'])
    t.notOk(stream.readableEnded, 'the end is held back too')
    letEnd()
    await ended
  },
)

await t.test('a watcher that refuses a chunk that it held back ends the body', async t => {
  for (const hook of ['onData', 'onEnd'] as const) {
    const { request, client, respond } = await arrive(t)
    const refusal = new GatewayError('body_invalid', 'It is damaged.')
    const watcher = { onData: () => undefined, [hook]: () => Promise.reject(refusal) }
    const stream = new ClientStream({ request, watchers: [watcher] })
    client.end('more')
    t.equal(await failureOf(stream), refusal)
    t.equal(await respond('refused'), 'refused')
  }
})

await t.test('a client that leaves, is silent or takes too long ends the body', async t => {
  const left = await arrive(t)
  const leaving = failureOf(new ClientStream({ request: left.request }))
  left.client.destroy()
  t.match(await leaving, { name: 'ClientLeftError' })

  const silent = await arrive(t)
  t.match(await failureOf(new ClientStream({ request: silent.request, silenceMs: 20 })), {
    code: 'request_timeout',
  })
  t.equal(await silent.respond('too slow'), 'too slow')

  const slow = await arrive(t)
  const timer = setInterval(() => slow.client.write('x'), 5)
  t.match(await failureOf(new ClientStream({ request: slow.request, timeMs: 50 })), {
    code: 'request_timeout',
  })
  clearInterval(timer)
})

await t.test('a slow reader does not count as a silent client', async t => {
  const { request, client } = await arrive(t)
  const stream = new ClientStream({ request, silenceMs: 1500 })
  client.end(Buffer.alloc(400_000))
  let bytes = 0
  for await (const chunk of stream) {
    if (bytes === 0) await new Promise(resolve => setTimeout(resolve, 1700))
    bytes += (chunk as Buffer).length
  }
  t.equal(bytes, 400_006)
})
