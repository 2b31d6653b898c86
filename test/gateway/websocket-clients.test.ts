import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { GoogleGenAI, type LiveServerMessage } from '@google/genai'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import t, { type Test } from 'tap'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { startHttpEgress } from '../fixtures/http-egress.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, rubPerMillion, usedMeters } from '../fixtures/session-gateway.ts'
import { startSessionUpstream } from '../fixtures/session-upstream.ts'
import { startSocksEgress } from '../fixtures/socks-egress.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'
import { providerHost, trustTestAuthority } from '../fixtures/tls-upstream.ts'

const tlsFolder = join(import.meta.dirname, '../fixtures/tls')
const tls = { cert: join(tlsFolder, 'good.pem'), key: join(tlsFolder, 'good.key') }
const reported = { input_tokens: 1200, output_tokens: 34, total_tokens: 1234 }

function configOf(origin: string, more: ConfigSections = {}): ConfigSections {
  const credentials = ['provider-credential']
  return {
    providers: {
      openai: { credentials, dialects: { openai: { baseUrl: `${origin}/v1` } } },
      google: { credentials, dialects: { google: { baseUrl: `${origin}/v1beta` } } },
    },
    models: {
      'gpt-realtime': { provider: 'openai', outputTokensMax: 4096, rubPerMillion },
      'gemini-*': { provider: 'google', outputTokensMax: 4096, rubPerMillion },
    },
    ...more,
  }
}

/** An independent emulator of the providers' APIs. */
async function startMock(t: Test): Promise<LLMock> {
  const mock = new LLMock({ port: 0, logLevel: 'silent', auth: { apiKeys: ['provider-credential'] } })
  mock.onMessage(/.*/, { content: 'Hello from the emulator.', usage: reported })
  await mock.start()
  t.teardown(() => mock.stop())
  return mock
}

async function lastCharges(gateway: TestGateway): ReturnType<TestGateway['charges']> {
  await until(() => gateway.logLines.some(line => line.includes('"msg":"exchange"')))
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.same(await gateway.breaches(), [])
  return await gateway.charges()
}

await t.test(
  "OpenAI's SDK has a turn with the emulator through the gateway over TLS, and the turn is charged",
  async t => {
    const mock = await startMock(t)
    const gateway = await startTestGateway(t, { config: configOf(mock.url, { tls }), rub: 100_000 })
    const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` })
    const options = { rejectUnauthorized: false }
    const session = new OpenAIRealtimeWS({ model: 'gpt-realtime', options }, client)
    t.teardown(() => session.close())
    const done = new Promise<{ response: { status?: string; usage?: object } }>((resolve, reject) => {
      session.on('error', reject)
      session.on('response.done', event => resolve(event as never))
      session.socket.on('open', () => {
        const content = [{ type: 'input_text' as const, text: 'hello' }]
        session.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
        session.send({ type: 'response.create' })
      })
    })
    const { response } = await done
    t.equal(response.status, 'completed')
    session.close()
    const [charge, ...others] = await lastCharges(gateway)
    t.same(others, [])
    t.match(response.usage, { input_tokens: 0, output_tokens: 0 }, 'the emulator reports no usage')
    t.match(charge, { operation: 'realtime', usageSource: 'estimated' })
    const { input = 0, output = 0 } = charge?.usage ?? {}
    t.ok(input > 0 && output > 0, 'so the usage is estimated')
  },
)

await t.test("Google's SDK holds a Live session with the emulator through the gateway", async t => {
  const mock = await startMock(t)
  const gateway = await startTestGateway(t, { config: configOf(mock.url), rub: 100_000 })
  const ai = new GoogleGenAI({
    apiKey: gateway.key,
    httpOptions: { baseUrl: gateway.url, apiVersion: 'v1beta' },
  })
  const messages: LiveServerMessage[] = []
  const session = await ai.live.connect({
    model: 'gemini-2.5-flash-live',
    callbacks: { onmessage: message => void messages.push(message) },
  })
  session.sendClientContent({ turns: [{ role: 'user', parts: [{ text: 'hello' }] }], turnComplete: true })
  await until(() => messages.some(({ serverContent }) => serverContent?.turnComplete === true))
  session.close()
  const [charge, ...others] = await lastCharges(gateway)
  t.same(others, [])
  // The emulator reports no usage, so the charge is estimated.
  t.match(charge, { operation: 'live', usageSource: 'estimated' })
  t.ok((charge?.usage.output ?? 0) > 0)
})

await t.test('sessions use the egress route, with TLS verified through the tunnel', async t => {
  trustTestAuthority()
  const server = createServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) })
  const upstream = await startSessionUpstream(t, answerResponses, { server })
  const publicOrigin = upstream.origin.replace('http://127.0.0.1', `https://${providerHost}`)
  const http = await startHttpEgress(t)
  const socks = await startSocksEgress(t)
  for (const [url, seen] of [
    [http.url, http.connects],
    [socks.url, socks.connects],
  ] as const) {
    const config = configOf(publicOrigin, { egress: { out: { url } } })
    const providers = config['providers'] as Record<string, object>
    for (const provider of Object.values(providers)) Object.assign(provider, { egress: ['out'] })
    const gateway = await startTestGateway(t, { config })
    const client = await openSession(t, `${gateway.url}/v1/realtime?model=gpt-realtime`, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.done')
    client.socket.close()
    t.match(await lastCharges(gateway), [{ usage: usedMeters }])
    t.equal(seen.length, 1, 'by one tunnel')
    t.match(String(seen[0]), providerHost)
  }
})

await t.test('without the egress route nothing is sent', async t => {
  const upstream = await startSessionUpstream(t, answerResponses)
  const config = configOf(upstream.origin.replace('http:', 'https:'), {
    egress: { out: { url: 'http://127.0.0.1:9' } },
  })
  for (const provider of Object.values(config['providers'] as Record<string, object>))
    Object.assign(provider, { egress: ['out'], timeouts: { connectMs: 500 } })
  const gateway = await startTestGateway(t, { config })
  const client = openSession(t, `${gateway.url}/v1/realtime?model=gpt-realtime`, { key: gateway.key })
  await t.rejects(client, /50[24]/)
  t.equal(upstream.sessions.length, 0)
})

await t.test('a hold of a session that a kill left open is released at the next start', async t => {
  const upstream = await startSessionUpstream(t, session => {
    answerResponses(session)
    session.socket.on('message', data => {
      if ((data as Buffer).toString().includes('"hang"')) session.socket.send('{"type":"hanging"}')
    })
  })
  const served = await serveProcess(t, { config: configOf(upstream.origin) })
  const client = await openSession(t, `${served.url}/v1/realtime?model=gpt-realtime`, { key: served.key })
  client.send({ type: 'response.create' })
  await client.next('response.done')
  await client.next('session.created')
  upstream.sessions[0]?.socket.removeAllListeners('message')
  client.send({ type: 'response.create' })
  await until(async () => (await served.heldMicros()) > 0)
  served.child.kill('SIGKILL')
  await client.closed
  await served.exited
  t.equal((await served.charges()).length, 1, 'the turn that ended is charged')
  t.ok((await served.heldMicros()) > 0, 'the other one is held for')
  const again = await startGatewayProcess(t, served.configFile)
  t.equal(await served.heldMicros(), 0)
  t.equal((await served.charges()).length, 1)
  t.same(await served.breaches(), [])
  t.ok(again.written().includes('released a hold that a crash left open'))
})
