import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { openSession, refusedSession } from '../fixtures/session-client.ts'
import { answerResponses, rubPerMillion } from '../fixtures/session-gateway.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { providerHost, providerTls, trustTestAuthority } from '../fixtures/tls-upstream.ts'

/** The reaction of a provider to an upgrade: it agrees, refuses with a status and a body, or hangs up. */
type Reaction = 'agree' | 'hang-up' | readonly [status: number, body: string]

interface Provider {
  readonly port: number
  readonly upgrades: IncomingMessage[]
  react: (request: IncomingMessage) => Reaction
}

async function startProvider(
  t: Test,
  react: Provider['react'],
  server: Server = createServer(),
): Promise<Provider> {
  const sockets = new WebSocketServer({ noServer: true })
  const upgrades: IncomingMessage[] = []
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.push(request)
    const reaction = provider.react(request)
    if (reaction === 'hang-up') socket.destroy()
    else if (reaction === 'agree')
      sockets.handleUpgrade(request, socket, head, client =>
        answerResponses({ socket: client, request, received: [] }),
      )
    else {
      const [status, body] = reaction
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      )
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })
  const provider: Provider = { port: (server.address() as AddressInfo).port, upgrades, react }
  return provider
}

interface Place {
  readonly port: number
  readonly origin?: string
  readonly credentials?: readonly string[]
  readonly [option: string]: unknown
}

async function startGateway(
  t: Test,
  places: readonly Place[],
  egress: Record<string, string> = {},
): Promise<TestGateway> {
  const names = places.map((_, index) => `provider-${index}`)
  return await startTestGateway(t, {
    config: {
      egress: Object.fromEntries(Object.entries(egress).map(([name, url]) => [name, { url }])),
      providers: Object.fromEntries(
        places.map(({ port, origin = 'http://127.0.0.1', credentials = ['one'], ...options }, index) => [
          names[index],
          {
            credentials,
            dialects: { openai: { baseUrl: `${origin}:${port}/v1` } },
            ...options,
          },
        ]),
      ),
      models: { 'gpt-realtime': { provider: names, outputTokensMax: 1000, rubPerMillion } },
    },
  })
}

const urlOf = (gateway: TestGateway): string => `${gateway.url}/v1/realtime?model=gpt-realtime`
const keyOf = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

/** Opens a session, has one response, and closes it. */
async function converse(t: Test, gateway: TestGateway, key = gateway.key): Promise<void> {
  const client = await openSession(t, urlOf(gateway), { key })
  client.send({ type: 'response.create' })
  await client.next('response.done')
  client.socket.close()
  await client.closed
}

const invalidKey =
  '{"error":{"code":"invalid_api_key","message":"Incorrect API key provided","type":"invalid_request_error"}}'
const country =
  '{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}'
const tooMany = '{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached","type":"requests"}}'

await t.test(
  'an unsupported country counts against the egress route, and the next route is used',
  async t => {
    const bad = await startHttpEgress(t)
    const good = await startHttpEgress(t)
    trustTestAuthority()
    const server = createTlsServer(providerTls())
    const provider = await startProvider(
      t,
      () => (provider.upgrades.length === 1 ? [403, country] : 'agree'),
      server,
    )
    const place = { port: provider.port, origin: `https://${providerHost}`, egress: ['bad', 'good'] }
    const gateway = await startGateway(t, [place], { bad: bad.url, good: good.url })

    for (let count = 0; count < 3; count += 1) await converse(t, gateway)

    t.equal(bad.connects.length, 1)
    t.match(await settled(gateway, 3), [
      { egress: 'good', attempts: 2 },
      { egress: 'good', attempts: 1 },
      { egress: 'good', attempts: 1 },
    ])
    t.notOk(gateway.logLines.some(line => line.includes('credential_suspended')))
    t.ok(gateway.logLines.some(line => /"alarm":"egress_down".*country/.test(line)))

    provider.react = () => [403, country]
    const refused = await refusedSession(urlOf(gateway), keyOf(gateway.key))
    t.match(
      refused,
      { status: 403, body: country },
      'without a route to a supported country the refusal is relayed',
    )
    t.equal((await gateway.charges()).length, 3)
    await checkMoney(t, gateway)
  },
)

await t.test(
  'a provider that hangs up is not paused, so that one account cannot switch it off for others',
  async t => {
    const provider = await startProvider(t, () => 'hang-up')
    const gateway = await startGateway(t, [{ port: provider.port }])
    for (let count = 0; count < 12; count += 1)
      t.match(await refusedSession(urlOf(gateway), keyOf(gateway.key)), {
        status: 502,
        body: /upstream_failed/,
      })
    t.equal(provider.upgrades.length, 12, 'the provider was tried each time')
    provider.react = () => 'agree'
    await converse(t, gateway)
    await checkMoney(t, gateway)
  },
)

await t.test(
  'after a provider hangs up, refuses the credential or is overloaded, the next one is used',
  async t => {
    const suspended = [401, invalidKey] as const
    const limited = [429, tooMany] as const
    const reactions: readonly (readonly [string, Reaction, RegExp | undefined])[] = [
      ['hangs up', 'hang-up', undefined],
      ['refuses the credential', suspended, /credential_suspended/],
      ['is rate limited', limited, undefined],
      ['is overloaded', [503, '{}'], undefined],
    ]
    for (const [name, reaction, alarm] of reactions) {
      const first = await startProvider(t, () => reaction)
      const second = await startProvider(t, () => 'agree')
      const gateway = await startGateway(t, [{ port: first.port }, { port: second.port }])
      await converse(t, gateway)
      t.same([first.upgrades.length, second.upgrades.length], [1, 1], name)
      t.match(await settled(gateway, 1), [{ attempts: 2 }], name)
      if (alarm !== undefined)
        t.ok(
          gateway.logLines.some(line => alarm.test(line)),
          name,
        )
      t.equal((await gateway.charges()).length, 1, name)
      await checkMoney(t, gateway)
    }
  },
)

await t.test('a rate-limited credential is replaced by another of the same provider', async t => {
  const provider = await startProvider(t, ({ headers }) =>
    headers.authorization === 'Bearer one' ? [429, tooMany] : 'agree',
  )
  const gateway = await startGateway(t, [{ port: provider.port, credentials: ['one', 'two'] }])
  for (let count = 0; count < 6; count += 1) await converse(t, gateway)
  const toOne = provider.upgrades.filter(({ headers }) => headers.authorization === 'Bearer one')
  t.ok(toOne.length <= 1, `${toOne.length} were sent with the limited one`)
  await checkMoney(t, gateway)
})

await t.test('a refusal is relayed when the next provider is unreachable', async t => {
  const first = await startProvider(t, () => [429, tooMany])
  const second = await startProvider(t, () => 'agree')
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  const gateway = await startGateway(t, [{ port: first.port }, { port }])
  t.match(await refusedSession(urlOf(gateway), keyOf(gateway.key)), { status: 429, body: tooMany })
  t.equal(second.upgrades.length, 0)
  await checkMoney(t, gateway)
})

await t.test(
  'a session that waits for a connection is refused at once when the gateway shuts down',
  async t => {
    const provider = await startProvider(t, () => 'agree')
    const limits = { connectionsMax: 1, waitingMax: 5, waitMs: 120_000 }
    const gateway = await startGateway(t, [{ port: provider.port, limits }])
    const client = await openSession(t, urlOf(gateway), { key: gateway.key })
    await client.next('session.created')
    const waiting = refusedSession(urlOf(gateway), keyOf(gateway.key))
    await new Promise(resolve => setTimeout(resolve, 200))
    t.equal(provider.upgrades.length, 1)
    const closed = gateway.gateway.close()
    t.match(await waiting, { status: 503, body: /shutting down/ })
    await Promise.all([client.closed, closed])
    t.equal(provider.upgrades.length, 1, 'the provider received no upgrade for it')
  },
)
