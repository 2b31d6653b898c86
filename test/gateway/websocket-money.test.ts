import t from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import {
  answerResponses,
  rubPerMillion,
  settledCharges,
  startSessionGateway,
  usage,
  usedMeters,
  type SessionGateway,
} from '../fixtures/session-gateway.ts'
import type { ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'

await t.test('each turn is a charge of one exchange, by its sequence', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  for (const turn of [1, 2, 3]) {
    client.send({ type: 'response.create' })
    await until(() => client.received.filter(text => text.includes('response.done')).length === turn)
    t.equal((await gateway.charges()).length, turn, 'the charge exists when the end of the turn arrives')
  }
  client.socket.close()
  const charges = await settledCharges(gateway)
  t.equal(new Set(charges.map(({ requestId }) => requestId)).size, 1)
  for (const charge of charges) {
    t.match(charge, { usage: usedMeters, amount: '0.150000', usageSource: 'provider', outcome: 'completed' })
    t.match(charge, { operation: 'realtime', model: 'gpt-realtime', flags: [] })
  }
  t.same(await gateway.breaches(), [])
  const turns = gateway.logLines.filter(line => line.includes('"msg":"turn"'))
  t.same(
    turns.map(line => (JSON.parse(line) as { sequence: number }).sequence),
    [0, 1, 2],
  )
})

await t.test('the hold is in the store before the provider responds', async t => {
  let heldMicros = 0
  const gateway: SessionGateway = await startSessionGateway(
    t,
    ({ socket }) => {
      socket.on('message', () => {
        void until(async () => {
          heldMicros = (await gateway.balance()).heldMicros
          return heldMicros > 0
        }).then(() => socket.send('{"type":"response.created","response":{"id":"r"}}'))
      })
    },
    { provider: { onClientLeft: 'abort' } },
  )
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create', response: { max_output_tokens: 400 } })
  await client.next('response.created')
  t.ok(heldMicros >= 400_000 && heldMicros < 500_000, `400 tokens are held for: ${heldMicros}`)
  client.socket.close()
  t.match(await settledCharges(gateway), [{ outcome: 'aborted', usage: { output: 0 } }], 'the input was read')
})

await t.test(
  'when the balance is used up the client receives an error of the protocol, and the session is closed',
  async t => {
    const gateway = await startSessionGateway(t, answerResponses, { rub: 1.2 })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.done')
    client.send({ type: 'response.create' })
    const { code, reason } = await client.closed
    t.equal(code, 1008)
    t.match(reason, 'likely costs')
    const last = JSON.parse(client.received.at(-1) ?? '') as { type: string; error: object }
    t.match(last, { type: 'error', error: { type: 'insufficient_quota', code: 'insufficient_quota' } })
    t.equal(gateway.upstream.sessions[0]?.received.length, 1, 'the second was not sent')
    t.equal((await settledCharges(gateway)).length, 1)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a running turn completes although the balance is used up meanwhile', async t => {
  let finish = (): void => undefined
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      socket.once('message', () => socket.send('{"type":"response.created","response":{"id":"r"}}'))
      finish = () => socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
    },
    { rub: 1.1 },
  )
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create' })
  await client.next('response.created')
  client.send({ type: 'response.create' })
  client.send({ type: 'conversation.item.create', item: {} })
  await until(() => gateway.upstream.sessions[0]?.received.length === 2)
  t.equal(client.socket.readyState, client.socket.OPEN)
  finish()
  t.equal((await client.closed).code, 1008)
  t.same(
    client.received.map(text => (JSON.parse(text) as { type: string }).type),
    ['response.created', 'response.done', 'error'],
  )
  t.match(await settledCharges(gateway), [{ usage: usedMeters }])
})

await t.test('a revoked key begins no further turn', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create' })
  await client.next('response.done')
  await gateway.accounts.revokeKey(gateway.keyId)
  client.send({ type: 'response.create' })
  t.equal((await client.closed).code, 1008)
  t.match(client.received.at(-1), 'was revoked')
  t.equal((await settledCharges(gateway)).length, 1)
})

const limits = [
  ['a budget', { budgetMicros: 200_000 }, 'budget'],
  ['a lower budget', { budgetMicros: 200_000 }, 'budget', { budgetMicros: 10_000_000 }],
  ['other models', { models: ['gpt-5'] }, 'may not use the model'],
  ['other addresses', { ipAddresses: ['192.0.2.1'] }, 'may not be used from'],
  ['a time that is over', { expiresAt: Date.now() - 1 }, 'has expired'],
] as const

for (const [limit, edit, refusal, before] of limits) {
  await t.test(`a key whose edit gives it ${limit} begins no further turn beyond it`, async t => {
    const gateway = await startSessionGateway(t, answerResponses)
    const { accounts, keyId: id } = gateway
    const keyEdit = { id, operator: 'olga', reason: 'test' }
    if (before !== undefined) await accounts.editKey({ ...keyEdit, ...before })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.done')

    await accounts.editKey({ ...keyEdit, ...edit })
    client.send({ type: 'response.create' })

    t.match(JSON.stringify(await client.next('error')), refusal)
    client.socket.close()
    t.match(await settledCharges(gateway), [{ usage: usedMeters }])
    t.same(await gateway.breaches(), [])
  })
}

/** Begins a response and sends a part of its text, and no end. */
function beginResponse({ socket }: ProviderSession): void {
  socket.once('message', () => {
    socket.send('{"type":"response.created","response":{"id":"r"}}')
    socket.send(
      JSON.stringify({ type: 'response.output_text.delta', response_id: 'r', delta: 'x'.repeat(400) }),
    )
  })
}

await t.test(
  'a client that leaves in the middle of a turn is charged an estimate of what it received',
  async t => {
    const gateway = await startSessionGateway(t, beginResponse, { provider: { onClientLeft: 'abort' } })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.output_text.delta')
    client.socket.terminate()
    const [charge, ...others] = await settledCharges(gateway)
    t.same(others, [])
    t.match(charge, { outcome: 'aborted', usageSource: 'estimated', usage: { output: 100 } })
    await until(() => gateway.upstream.sessions[0]?.socket.readyState === 3)
  },
)

for (const leave of ['terminate', 'close'] as const) {
  await t.test(`a turn whose client leaves by ${leave} is read on to its usage`, async t => {
    let finish = (): void => undefined
    const gateway = await startSessionGateway(t, session => {
      beginResponse(session)
      finish = () =>
        session.socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
    })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.output_text.delta')
    client.socket[leave]()
    await client.closed
    // The gateway sees the disconnect in this same process, before any timer.
    await new Promise(resolve => setTimeout(resolve, 50))
    finish()
    t.match(await settledCharges(gateway), [{ usageSource: 'drained', usage: usedMeters }])
  })
}

await t.test(
  'a turn that the provider cuts is charged an estimate of what passed, and the client receives an error',
  async t => {
    const gateway = await startSessionGateway(t, beginResponse)
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.output_text.delta')
    gateway.upstream.sessions[0]?.socket.terminate()
    t.equal((await client.closed).code, 1014)
    t.match(client.received.at(-1), 'upstream_failed')
    const [charge, ...others] = await settledCharges(gateway)
    t.same(others, [])
    t.match(charge, { outcome: 'broken', usageSource: 'estimated', usage: { output: 100 } })
    t.same(await gateway.breaches(), [])
  },
)

await t.test('audio that may start a response by itself is held for, once', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    socket.send('{"type":"session.created","session":{"turn_detection":{"type":"server_vad"}}}')
    let count = 0
    socket.on('message', () => {
      if ((count += 1) !== 3) return
      socket.send('{"type":"response.created","response":{"id":"r"}}')
      socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
    })
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  await client.next('session.created')
  for (let count = 0; count < 3; count += 1) client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  await client.next('response.done')
  client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  await until(async () => (await gateway.balance()).heldMicros > 0)
  client.socket.close()
  t.match(await settledCharges(gateway), [{ usage: usedMeters }], 'the hold for the next one is released')
})

/** Sessions in which a response cannot be held for. */
const unheld: Readonly<
  Record<string, { rub: number; detection: object | null; amount: string; flags: string[] }>
> = {
  'an unrequested response is charged up to the balance, and ends the session': {
    rub: 0.1,
    detection: null,
    amount: '0.100000',
    flags: ['overrun'],
  },
  'input during a turn begins no further turn without money, and ends the session': {
    rub: 1.4,
    detection: { type: 'server_vad' },
    amount: '0.150000',
    flags: [],
  },
}
for (const [name, { rub, detection, amount, flags }] of Object.entries(unheld)) {
  await t.test(name, async t => {
    const events = [
      JSON.stringify({ type: 'session.created', session: { turn_detection: detection } }),
      '{"type":"response.created","response":{"id":"r"}}',
      JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }),
    ]
    const gateway = await startSessionGateway(
      t,
      ({ socket }) => {
        socket.send(events[0] ?? '')
        let count = 0
        socket.on('message', () => socket.send(events[(count += 1)] ?? ''))
      },
      { rub },
    )
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    await client.next('session.created')
    const message =
      detection === null ? { type: 'noise' } : { type: 'input_audio_buffer.append', audio: 'AAAA' }

    client.send(message)
    await client.next('response.created')
    client.send(message)

    t.match(await client.closed, { code: 1008, reason: /likely costs/ })
    t.same(client.received.slice(0, -1), events)
    t.match(JSON.parse(client.received.at(-1) ?? ''), { error: { code: 'insufficient_quota' } })
    t.match(await settledCharges(gateway), [{ outcome: 'completed', usage: usedMeters, amount, flags }])
    t.same(await gateway.breaches(), [])
  })
}

await t.test('a transcript is charged separately, at the price of its model', async t => {
  const transcript = {
    type: 'conversation.item.input_audio_transcription.completed',
    usage: { type: 'duration', seconds: 3 },
  }
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      const audio = { input: { transcription: { model: 'scribe' }, turn_detection: null } }
      socket.send(JSON.stringify({ type: 'session.updated', session: { audio } }))
      socket.send(JSON.stringify(transcript))
    },
    {
      config: {
        models: {
          'gpt-realtime': { provider: 'openai', rubPerMillion },
          scribe: { provider: 'openai', rubPerUnit: { audioSeconds: '0.5' } },
        },
      },
    },
  )
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  await client.next(transcript.type)
  client.socket.close()
  t.match(await settledCharges(gateway), [{ usage: { audioSeconds: 3 }, amount: '1.500000', flags: [] }])
})

await t.test('an error with the event id of a response does not release its hold', async t => {
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      socket.on('message', (data: Buffer) => {
        const { type, event_id: id } = JSON.parse(data.toString()) as { type: string; event_id?: string }
        if (type === 'response.create') return
        socket.send(JSON.stringify({ type: 'error', error: { event_id: id } }))
        if (type === 'last') socket.send('{"type":"response.created","response":{"id":"r"}}')
        if (type === 'last')
          socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
      })
    },
    { rub: 1.2 },
  )
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create', event_id: 'x' })
  client.send({ type: 'bogus', event_id: 'x' })
  await client.next('error')
  t.ok((await gateway.balance()).heldMicros > 1_000_000, 'the response may still come')
  client.send({ type: 'last' })
  await client.next('response.done')
  t.match(await gateway.charges(), [{ usage: usedMeters, flags: [], providerRequestId: 'r' }])
  client.socket.close()
  await settledCharges(gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('searches of a Live session are charged with their turn, and with no other', async t => {
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      const say = (event: unknown): void => socket.send(JSON.stringify(event))
      const usageMetadata = { promptTokenCount: 400, totalTokenCount: 400 }
      const groundingMetadata = {
        webSearchQueries: ['weather', 'news', 'weather'],
        groundingChunks: [{ web: { uri: 'u' } }, { maps: { uri: 'v' } }],
      }
      socket.once('message', () => {
        say({ serverContent: { modelTurn: { parts: [{ text: 'x' }] }, groundingMetadata } })
        say({ serverContent: { turnComplete: true }, usageMetadata })
        say({ serverContent: { turnComplete: true }, usageMetadata })
      })
    },
    {
      config: {
        models: {
          'gemini-live': {
            provider: 'google',
            outputTokensMax: 1000,
            rubPerMillion,
            rubPerUnit: { searches: '3' },
          },
        },
      },
    },
  )
  const client = await openSession(t, gateway.liveUrl, { key: gateway.key })
  client.send({ setup: { model: 'models/gemini-live' } })
  await until(() => client.received.filter(text => text.includes('usageMetadata')).length === 2)
  client.socket.close()
  const charges = await settledCharges(gateway)
  t.same(
    charges.map(({ amount, flags }) => [amount, flags]),
    [
      ['6.400000', []],
      ['0.400000', []],
    ],
  )
  t.same(await gateway.breaches(), [])
})

await t.test("a turn that is stopped before any output is charged by the provider's count", async t => {
  const read = { ...usage, output_tokens: 0, total_tokens: 100, output_token_details: {} }
  for (const [status, reported, amount] of [
    ['cancelled', read, '0.100000'],
    ['failed', read, '0.100000'],
    ['cancelled', usage, '0.150000'],
    ['cancelled', { ...read, total_tokens: 0, input_tokens: 0, input_token_details: {} }, '0.000000'],
    ['cancelled', null, '0.000000'],
    ['failed', undefined, '0.000000'],
  ] as const) {
    const gateway = await startSessionGateway(t, ({ socket }) => {
      socket.on('message', () => {
        socket.send('{"type":"response.created","response":{"id":"r"}}')
        socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', status, usage: reported } }))
      })
    })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.done')
    client.socket.close()
    t.match(await settledCharges(gateway), [{ amount }], `${status} ${JSON.stringify(reported)}`)
    t.same(await gateway.breaches(), [])
  }
})

await t.test('a turn with output that the provider does not count is estimated', async t => {
  const none = {
    ...usage,
    total_tokens: 0,
    input_tokens: 0,
    output_tokens: 0,
    input_token_details: {},
    output_token_details: {},
  }
  for (const [status, reported] of [
    ['completed', none],
    ['completed', undefined],
    ['cancelled', none],
    ['cancelled', null],
    ['failed', undefined],
    ['incomplete', {}],
  ] as const) {
    const gateway = await startSessionGateway(t, ({ socket }) => {
      socket.on('message', () => {
        socket.send('{"type":"response.created","response":{"id":"r"}}')
        const delta = 'a'.repeat(400)
        socket.send(JSON.stringify({ type: 'response.output_text.delta', response_id: 'r', delta }))
        socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', status, usage: reported } }))
      })
    })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    client.send({ type: 'response.create' })
    await client.next('response.done')
    client.socket.close()
    const [charge, ...others] = await settledCharges(gateway)
    t.match(charge, { usageSource: 'estimated' }, `${status} ${JSON.stringify(reported)}`)
    t.ok(Number(charge?.amount) >= 0.1, `${charge?.amount}`)
    t.same(others, [])
    t.same(await gateway.breaches(), [])
  }
})
