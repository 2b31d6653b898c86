import t, { type Test } from 'tap'
import { openSession, type SessionClient } from '../fixtures/session-client.ts'
import { rubPerMillion, startSessionGateway, type SessionGateway } from '../fixtures/session-gateway.ts'
import type { ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'

/** Micro-roubles a token, for every meter. */
const rate = Number(rubPerMillion.input)
/** Usage of the first turn: text and audio, input and output. */
const usage = {
  promptTokenCount: 150_000,
  responseTokenCount: 50_000,
  totalTokenCount: 200_000,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 50_000 },
    { modality: 'AUDIO', tokenCount: 100_000 },
  ],
  responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 50_000 }],
}
const contextMicros = 200_000 * rate
/** Turns here do not end, so the gateway does not read on to their usage. */
const left = { provider: { onClientLeft: 'abort' } }
const setup = { model: 'models/gemini-live' }
const turnOf = (text: string): object => ({
  clientContent: { turns: [{ parts: [{ text }] }], turnComplete: true },
})

/** Sends a handle at the beginning and after each turn; a turn with the text "Wait" does not end. */
function converse({ socket }: ProviderSession): void {
  const say = (message: unknown): void => socket.send(JSON.stringify(message))
  const giveHandle = (): void =>
    say({ sessionResumptionUpdate: { newHandle: `handle-${(handles += 1)}`, resumable: true } })
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    if (text.includes('setup')) {
      say({ setupComplete: {} })
      giveHandle()
      return
    }
    say({ serverContent: { modelTurn: { parts: [{ text: 'Yes.' }] } } })
    if (text.includes('Wait')) return
    say({ serverContent: { turnComplete: true }, usageMetadata: usage })
    giveHandle()
  })
}
let handles = 0

async function open(t: Test, gateway: SessionGateway, handle?: string): Promise<SessionClient> {
  const client = await openSession(t, gateway.liveUrl, { key: gateway.key })
  client.send({ setup: { ...setup, sessionResumption: handle === undefined ? {} : { handle } } })
  await client.next('setupComplete')
  return client
}

/** The handle that a session receives after its first `from` messages. */
async function handleOf(client: SessionClient, from = 0): Promise<string> {
  const update = await client.next('sessionResumptionUpdate', from)
  return (update['sessionResumptionUpdate'] as { newHandle: string }).newHandle
}

/** Runs a session with one turn of this usage, and returns the handle that resumes it. */
async function converseOnce(t: Test, gateway: SessionGateway): Promise<string> {
  const client = await open(t, gateway)
  await handleOf(client)
  const receivedCount = client.received.length
  client.send(turnOf('Hi'))
  const handle = await handleOf(client, receivedCount)
  client.socket.close()
  await until(() => gateway.logLines.some(line => line.includes('"msg":"exchange"')))
  return handle
}

/** The hold of the first turn of a session while it runs. */
async function heldFor(client: SessionClient, gateway: SessionGateway): Promise<number> {
  client.send(turnOf('Wait'))
  await client.next('serverContent')
  return (await gateway.balance()).heldMicros
}

await t.test(
  'the first turn of a resumed session is held for with the whole conversation before it',
  async t => {
    const gateway = await startSessionGateway(t, converse, left)
    const fresh = await open(t, gateway)
    const alone = await heldFor(fresh, gateway)
    t.ok(alone > 0 && alone < 0.01 * contextMicros, `${alone}`)
    fresh.socket.close()
    await until(async () => (await gateway.balance()).heldMicros === 0)

    const handle = await converseOnce(t, gateway)
    const held = await heldFor(await open(t, gateway, handle), gateway)

    t.ok(held >= alone + contextMicros, `${held}`)
    t.ok(held < alone + 1.01 * contextMicros, `${held}`)
  },
)

await t.test('a session that was resumed and had no turn returns a handle with the same context', async t => {
  const gateway = await startSessionGateway(t, converse, left)
  const handle = await converseOnce(t, gateway)
  const silent = await open(t, gateway, handle)
  const next = await handleOf(silent)
  silent.socket.close()
  t.not(next, handle)

  t.ok((await heldFor(await open(t, gateway, next), gateway)) >= contextMicros)
})

await t.test('sessions that resume the same one have turns as far as the balance covers them', async t => {
  // The first turn costs 200 roubles.
  const gateway = await startSessionGateway(t, converse, { ...left, rub: 200 + 2.5 * 203 })
  const handle = await converseOnce(t, gateway)
  const clients = await Promise.all(Array.from({ length: 10 }, () => open(t, gateway, handle)))
  const answered = (): number =>
    clients.filter(({ received }) => received.some(text => text.includes('serverContent'))).length
  let refused = 0
  for (const { closed } of clients) {
    void closed.then(({ reason }) => (refused += reason.includes('roubles') ? 1 : 0))
  }

  for (const client of clients) client.send(turnOf('Wait'))
  await until(() => answered() + refused === clients.length)

  t.equal(answered(), 2)
  t.same((await gateway.charges()).map(({ amount }) => amount)[0], '200.000000')
  t.same(await gateway.breaches(), [])
})
