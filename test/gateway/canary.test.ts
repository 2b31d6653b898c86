import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { connectRaw, type RawClient } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

/*
 * Two canaries, the provider's credential and the client's key, are searched for in every byte that either side, the
 * log and the store received. Two cases are not covered, since the gateway changes no bodies: a provider that writes
 * its credential into a response, and a client that writes its key into a request body.
 */

type Ask = (
  lines: readonly string[],
  options?: { path?: string; body?: string; method?: string },
) => Promise<RawClient>

interface Scene {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
  readonly call: DialectCall
  readonly ask: Ask
  readonly key: readonly string[]
}

const eventStream = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

function streamed(call: DialectCall, count: number): Buffer[] {
  const framed = chunked(call.events.map(event => Buffer.from(event)))
  return [eventStream, ...(count < call.events.length ? framed.slice(0, count) : framed)]
}

/** Sends one request that receives this response, and waits for its end. */
async function complete({ upstream, ask, key }: Scene, answer: RawAnswer, body?: string): Promise<void> {
  upstream.answer = () => answer
  const client = await ask([...key, 'connection: close'], body === undefined ? {} : { body })
  await client.ended
}

const scenes: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  success: scene => complete(scene, plainAnswer(200, ['x-request-id', 'r'], scene.call.document)),
  stream: scene => complete(scene, { pieces: streamed(scene.call, Infinity) }, scene.call.body(true)),
  'error of the provider': scene => complete(scene, plainAnswer(401, [], '{"error":{"message":"bad key"}}')),
  'cut stream': scene =>
    complete(scene, { pieces: streamed(scene.call, 1), then: 'end' }, scene.call.body(true)),
  'reset before a response': scene => complete(scene, { pieces: [], then: 'reset' }),
  'response that is not HTTP': scene =>
    complete(scene, { pieces: [Buffer.from('SSH-2.0-x\r\n\r\n')], then: 'end' }),
  'body of another kind': scene => complete(scene, { pieces: [] }, '[1]'),
  'broken body': scene => complete(scene, { pieces: [] }, '{"model":'),
  async 'key in the query and in every header'({ upstream, ask, gateway, call }) {
    upstream.answer = () => plainAnswer(200, [], call.document)
    const { key } = gateway
    const path = `${call.path(false)}${call.path(false).includes('?') ? '&' : '?'}key=${key}`
    const lines = [
      `authorization: Bearer ${key}`,
      `x-api-key: ${key}`,
      `x-goog-api-key: ${key}`,
      `api-key: ${key}`,
    ]
    const client = await ask(
      [...lines, `cookie: key=${key}`, `proxy-authorization: Bearer ${key}`, 'connection: close'],
      { path },
    )
    await client.ended
  },
  async 'Expect: 100-continue'({ upstream, ask, key, call }) {
    upstream.answer = () => plainAnswer(200, [], call.document)
    const client = await ask([...key, 'expect: 100-continue', 'connection: close'])
    await client.ended
  },
  async 'unknown path and wrong method'({ ask, key, gateway }) {
    for (const [method, path] of [
      ['POST', '/v1/nothing'],
      ['PUT', '/v1/chat/completions'],
      ['POST', `/v1/${gateway.key}?key=${gateway.key}`],
      ['POST', `/v1//${gateway.key}`],
    ] as const) {
      const client = await ask([...key, 'connection: close'], { method, path })
      await client.ended
    }
  },
  async 'broken request'({ ask, key }) {
    const client = await ask([...key, 'transfer-encoding : chunked'])
    await client.ended
  },
  async 'client that leaves'({ upstream, ask, key, call }) {
    upstream.answer = () => ({ pieces: streamed(call, 1) })
    const client = await ask(key, { body: call.body(true) })
    await client.waitFor('data:')
    client.socket.destroy()
  },
}

await t.test(
  "neither the provider's key nor the client's reaches the other side, the log or the store",
  async t => {
    const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
    const gateway = await startTestGateway(t, {
      config: callConfig(upstream.origin, { onClientLeft: 'abort' }, { log: { level: 'trace' } }),
    })
    const clients: RawClient[] = []
    for (const call of dialectCalls) {
      const [name, value] = call.keyHeader(gateway.key)
      const ask: Ask = async (lines, options = {}) => {
        const { path = call.path(false), body = call.body(false), method = 'POST' } = options
        const client = await connectRaw(t, gateway.url)
        clients.push(client)
        const head = [
          `${method} ${path} HTTP/1.1`,
          'host: g',
          ...lines,
          `content-length: ${Buffer.byteLength(body)}`,
        ]
        client.socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
        return client
      }
      for (const [scene, play] of Object.entries(scenes)) {
        await t.test(`${call.name}: ${scene}`, async t => {
          await play({ upstream, gateway, call, ask, key: [`${name}: ${value}`] })
          t.ok(clients.at(-1)!.received().length > 0, 'the client received bytes')
        })
      }
    }
    await until(async () => (await gateway.balance()).heldMicros === 0)
    await settled(gateway, 30)
    const outcomes = new Set(exchangeEnds(gateway).map(end => end.outcome))
    t.same([...outcomes].toSorted(), ['aborted', 'broken', 'completed', 'refused'], 'every outcome occurs')

    const toProvider = Buffer.concat(upstream.received).toString('latin1')
    const toClients = Buffer.concat(clients.map(client => client.received())).toString('latin1')
    const log = gateway.logLines.join('')
    const folder = join(gateway.folder, 'data')
    const files = readdirSync(folder).filter(file => !file.endsWith('.sock'))
    t.ok(
      files.some(file => file.endsWith('-wal')),
      'the write-ahead log is among the files',
    )
    const store = files.map(file => readFileSync(join(folder, file), 'latin1')).join('')
    t.match(toProvider, providerCredential, 'the search finds a canary that is there')
    t.match(store, gateway.keyId)

    const secret = gateway.key.slice(3)
    for (const canary of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(gateway.key).toString('base64').slice(4, -4),
    ]) {
      t.notOk(toProvider.includes(canary), 'the client\u2019s key did not reach the provider')
      t.notOk(log.includes(canary), 'nor the log')
      t.notOk(store.includes(canary), 'nor the store')
    }
    for (const [place, text] of Object.entries({ toClients, log, store })) {
      t.notOk(text.includes(providerCredential), `the provider\u2019s key is not in ${place}`)
    }
  },
)
