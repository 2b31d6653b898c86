import t, { type Test } from 'tap'
import { openSession, refusedSession } from '../fixtures/session-client.ts'
import { startSessionGateway, usage, usedMeters, type SessionGateway } from '../fixtures/session-gateway.ts'
import type { ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'

/** A gateway that allows calls, whose provider names each call in its response. */
async function startCalls(
  t: Test,
  converse: (session: ProviderSession) => void,
): Promise<SessionGateway & { call(): Promise<Response>; readonly sidebandUrl: string }> {
  const gateway = await startSessionGateway(t, converse, {
    config: {
      plugins: ['auth', { 'model-router': { mintedKeys: 'allow' } }, 'upstream-proxy', 'usage-tap'],
    },
  })
  gateway.upstream.server.on('request', (_request, response) => {
    response.writeHead(201, { 'content-type': 'application/sdp', location: '/v1/realtime/calls/rtc_1' })
    response.end('v=0')
  })
  return {
    ...gateway,
    sidebandUrl: `${gateway.url}/v1/realtime?call_id=rtc_1`,
    call: () =>
      fetch(`${gateway.url}/v1/realtime/calls`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/sdp' },
        body: 'v=0',
      }),
  }
}

/** Reports a call of this model, and a response in it. */
function reportCall({ socket }: ProviderSession): void {
  const say = (event: object): void => socket.send(JSON.stringify(event))
  say({ type: 'session.created', session: { type: 'realtime', model: 'gpt-realtime' } })
  socket.on('message', () => {
    say({ type: 'response.created', response: { id: 'resp_call', status: 'in_progress' } })
    say({ type: 'response.done', response: { id: 'resp_call', status: 'completed', usage } })
  })
}

await t.test(
  "a sideband connection to the account's own call is charged for the responses in it",
  async t => {
    const gateway = await startCalls(t, reportCall)
    t.equal((await gateway.call()).status, 201)
    const client = await openSession(t, gateway.sidebandUrl, { key: gateway.key })
    await client.next('session.created')
    client.send({ type: 'response.create' })
    await client.next('response.done')
    t.match(await gateway.charges(), [
      {
        operation: 'realtime-sideband',
        model: 'gpt-realtime',
        usage: usedMeters,
        amount: '0.150000',
        flags: [],
      },
    ])
    t.equal(gateway.upstream.sessions[0]?.request.url, '/v1/realtime?call_id=rtc_1')
    t.same(await gateway.breaches(), [])
  },
)

await t.test('two sideband connections of one call charge each response once', async t => {
  const gateway = await startCalls(t, reportCall)
  await gateway.call()
  const clients = await Promise.all(
    [1, 2].map(() => openSession(t, gateway.sidebandUrl, { key: gateway.key })),
  )
  for (const client of clients) {
    await client.next('session.created')
    client.send({ type: 'response.create' })
  }
  for (const client of clients) await client.next('response.done')
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.match(await gateway.charges(), [{ amount: '0.150000' }])
  t.equal((await gateway.charges()).length, 1)
  t.same(await gateway.breaches(), [])
})

await t.test('a call of a model without a price continues at the last price, or at zero', async t => {
  /** The models that the provider names one after another. */
  const rows = [
    { models: ['gpt-realtime', 'unpriced'], model: 'gpt-realtime', amount: '0.150000', flags: [] },
    { models: ['unpriced'], amount: '0.000000', flags: ['model_unpriced'] },
  ]
  const events = rows.map(({ models }, row) => [
    ...models.map(model => JSON.stringify({ type: 'session.created', session: { model } })),
    `{"type":"response.created","response":{"id":"resp_${row}"}}`,
    JSON.stringify({ type: 'response.done', response: { id: `resp_${row}`, usage } }),
  ])
  let begun = 0
  const gateway = await startCalls(t, ({ socket }) => {
    for (const event of events[begun++] ?? []) socket.send(event)
  })
  await gateway.call()
  for (const [row, { models: _models, ...charge }] of rows.entries()) {
    const client = await openSession(t, gateway.sidebandUrl, { key: gateway.key })
    await client.next('response.done')
    t.same(client.received, events[row])
    t.match((await gateway.charges()).at(-1), { outcome: 'completed', ...charge })
    client.socket.close()
    await client.closed
  }
  t.equal((await gateway.charges()).length, rows.length)
  t.equal(gateway.logLines.filter(line => line.includes('"alarm":"model_unpriced"')).length, 3)
  t.same(await gateway.breaches(), [])
})

await t.test(
  'another account cannot join or end a call, and no turn begins before the model is known',
  async t => {
    const gateway = await startCalls(t, () => undefined)
    await gateway.call()
    const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
    const { key } = await gateway.accounts.createKey({ accountId })
    const headers = { authorization: `Bearer ${key}` }
    const [foreign, unknown] = await Promise.all([
      refusedSession(gateway.sidebandUrl, { headers }),
      refusedSession(gateway.sidebandUrl.replace('rtc_1', 'rtc_2'), { headers }),
    ])
    t.equal(foreign.status, 404)
    t.equal(unknown.body, foreign.body.replace('rtc_1', 'rtc_2'))
    const hangup = await fetch(`${gateway.url}/v1/realtime/calls/rtc_1/hangup`, { method: 'POST', headers })
    t.equal(hangup.status, 404)

    const client = await openSession(t, gateway.sidebandUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    t.match(await client.next('error'), { error: { code: 'body_invalid' } })
    t.same(gateway.upstream.sessions[0]?.received, [])
  },
)
