import t, { type Test } from 'tap'
import { startEmulatedGateway } from '../fixtures/emulated-providers.ts'
import { openSession, type SessionClient } from '../fixtures/session-client.ts'
import { settledCharges, startSessionGateway, type SessionGateway } from '../fixtures/session-gateway.ts'
import type { ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'

/** Roubles a million: a token of audio or text costs a thousandth. */
const rubPerMillion = { input: '1000', audioInput: '1000', output: '1000' }
const models = {
  'gpt-4o-transcribe': { provider: 'openai', outputTokensMax: 2000, rubPerMillion },
  'whisper-1': { provider: 'openai', rubPerUnit: { audioSeconds: '0.5' } },
  listener: { alias: 'gpt-4o-transcribe' },
  'gpt-realtime': { provider: 'openai', outputTokensMax: 1000, rubPerMillion },
  unpriced: { provider: 'openai' },
}
const prefix = 'conversation.item.input_audio_transcription'
const usage = {
  type: 'tokens',
  input_tokens: 20,
  input_token_details: { audio_tokens: 20, text_tokens: 0 },
  output_tokens: 5,
  total_tokens: 25,
}

/** A second of audio, 24,000 samples of two bytes. */
const second = Buffer.alloc(48_000).toString('base64')

function update(model: string, more: object = {}): object {
  return {
    type: 'session.update',
    session: { type: 'transcription', audio: { input: { transcription: { model }, ...more } } },
  }
}

/** Accepts every change of the session, and transcribes every commit. */
function transcribe(session: ProviderSession, finish = true): void {
  const say = (event: object): void => session.socket.send(JSON.stringify(event))
  say({ type: 'session.created', session: { type: 'transcription' } })
  let items = 0
  session.socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as { type: string; session?: object }
    if (message.type === 'session.update') say({ type: 'session.updated', session: message.session })
    if (message.type !== 'input_audio_buffer.commit') return
    const item_id = `item_${(items += 1)}`
    say({ type: 'input_audio_buffer.committed', item_id })
    say({ type: `${prefix}.delta`, item_id, content_index: 0, delta: 'Hello there, all of you.' })
    if (finish) say({ type: `${prefix}.completed`, item_id, content_index: 0, transcript: 'x', usage })
  })
}

async function start(
  t: Test,
  converse: (session: ProviderSession) => void,
  options: Parameters<typeof startSessionGateway>[2] = {},
): Promise<{ gateway: SessionGateway; client: SessionClient }> {
  const { config, ...rest } = options
  const gateway = await startSessionGateway(t, converse, { ...rest, config: { models, ...config } })
  const client = await openSession(t, `${gateway.url}/v1/realtime?intent=transcription`, { key: gateway.key })
  await client.next('session.created')
  return { gateway, client }
}

async function sendAudio(client: SessionClient, seconds = 1): Promise<void> {
  for (let count = 0; count < seconds; count += 1)
    client.send({ type: 'input_audio_buffer.append', audio: second })
  client.send({ type: 'input_audio_buffer.commit' })
}

function transcripts(client: SessionClient): number {
  return client.received.filter(text => text.includes('.completed')).length
}

await t.test("each transcript is charged at the price of the session's model, also by an alias", async t => {
  const { gateway, client } = await start(t, session => transcribe(session))
  client.send(update('listener'))
  await client.next('session.updated')
  for (const count of [1, 2]) {
    await sendAudio(client)
    await until(() => transcripts(client) === count)
    t.equal((await gateway.charges()).length, count, 'the charge exists when the transcript arrives')
  }
  client.socket.close()
  const charges = await settledCharges(gateway)
  for (const charge of charges) {
    t.match(charge, {
      operation: 'realtime-transcription',
      model: 'gpt-4o-transcribe',
      usage: { audioInput: 20, output: 5 },
      amount: '0.025000',
      usageSource: 'provider',
      flags: [],
    })
  }
  const [sent] = gateway.upstream.sessions[0]?.received ?? []
  t.same(JSON.parse(sent ?? ''), update('gpt-4o-transcribe'), 'the alias was replaced')
  t.equal(gateway.upstream.sessions[0]?.request.url, '/v1/realtime?intent=transcription')
  t.same(await gateway.breaches(), [])
})

await t.test('audio is held for before it is relayed, and again as more follows', async t => {
  const { gateway, client } = await start(t, session => transcribe(session, false))
  client.send(update('gpt-4o-transcribe'))
  await client.next('session.updated')
  client.send({ type: 'input_audio_buffer.append', audio: second })
  await until(async () => (await gateway.balance()).worstMicros > 0)
  const first = (await gateway.balance()).worstMicros
  t.ok(first >= 11 * 20 * 1000, `ten seconds are held for ahead: ${first}`)
  for (let count = 0; count < 30; count += 1)
    client.send({ type: 'input_audio_buffer.append', audio: second })
  await until(() => gateway.upstream.sessions[0]?.received.length === 32)
  const later = (await gateway.balance()).worstMicros
  t.ok(later - first >= 15 * 20 * 1000, `more is held for as more audio follows: ${later}`)
})

await t.test('a transcript billed by its length is charged by its seconds', async t => {
  const { gateway, client } = await start(t, session => {
    transcribe(session, false)
    session.socket.on('message', (data: Buffer) => {
      if (!data.toString().includes('.commit')) return
      const reported = { type: 'duration', seconds: 3 }
      session.socket.send(JSON.stringify({ type: `${prefix}.completed`, item_id: 'item_1', usage: reported }))
    })
  })
  client.send(update('whisper-1'))
  await sendAudio(client)
  await until(() => transcripts(client) === 1)
  t.match(await gateway.charges(), [{ usage: { audioSeconds: 3 }, amount: '1.500000', flags: [] }])
})

await t.test('audio without an allowed and priced model is refused and not forwarded', async t => {
  const { gateway, client } = await start(t, session => transcribe(session), {
    keyModels: ['gpt-4o-transcribe', 'unpriced'],
  })
  const cases: readonly (readonly [object, string])[] = [
    [{ type: 'input_audio_buffer.append', audio: second }, 'body_invalid'],
    [update('whisper-1'), 'permission_denied'],
    [update('unpriced'), 'model_not_found'],
    [update('nobody'), 'model_not_found'],
    [
      {
        type: 'session.update',
        session: {
          input_audio_transcription: { model: 'gpt-4o-transcribe' },
          audio: { input: { transcription: { model: 'gpt-4o-transcribe' } } },
        },
      },
      'field_ambiguous',
    ],
    [{ type: 'response.create' }, 'not_supported'],
    [{ type: 'conversation.item.create', item: {} }, 'not_supported'],
  ]
  for (const [message, code] of cases) {
    const before = client.received.length
    client.send(message)
    t.match(await client.next('error', before), { error: { code } }, JSON.stringify(message).slice(0, 80))
  }
  t.same(gateway.upstream.sessions[0]?.received, [])
  client.send(update('gpt-4o-transcribe'))
  await sendAudio(client)
  await until(() => transcripts(client) === 1)
  t.same(await gateway.breaches(), [])
})

await t.test("replacing the model while an item is transcribed does not change the item's price", async t => {
  let finish = (): void => undefined
  const { gateway, client } = await start(
    t,
    session => {
      transcribe(session, false)
      finish = () =>
        session.socket.send(JSON.stringify({ type: `${prefix}.completed`, item_id: 'item_1', usage }))
    },
    {
      config: {
        models: {
          ...models,
          cheap: { provider: 'openai', rubPerMillion: { input: '1', audioInput: '1', output: '1' } },
        },
      },
    },
  )
  client.send(update('gpt-4o-transcribe'))
  await sendAudio(client)
  await client.next(`${prefix}.delta`)
  client.send(update('cheap'))
  await until(() => client.received.filter(text => text.includes('session.updated')).length === 2)
  finish()
  await until(() => transcripts(client) === 1)
  t.match(await gateway.charges(), [{ amount: '0.025000' }])
})

await t.test('a client that leaves during a transcript is charged for the audio', async t => {
  const { gateway, client } = await start(t, session => transcribe(session, false), {
    provider: { onClientLeft: 'abort' },
  })
  client.send(update('gpt-4o-transcribe'))
  await sendAudio(client, 5)
  await client.next(`${prefix}.delta`)
  client.socket.terminate()
  const charges = await settledCharges(gateway)
  t.match(charges, [{ outcome: 'aborted', usageSource: 'estimated' }])
  t.ok((charges[0]?.usage['audioInput'] ?? 0) >= 5 * 20, JSON.stringify(charges[0]?.usage))
  t.same(await gateway.breaches(), [])
})

await t.test('audio that was not transcribed costs nothing', async t => {
  const { gateway, client } = await start(t, session => transcribe(session, false))
  client.send(update('gpt-4o-transcribe'))
  client.send({ type: 'input_audio_buffer.append', audio: second })
  client.send({ type: 'input_audio_buffer.clear' })
  await until(() => gateway.upstream.sessions[0]?.received.length === 3)
  client.socket.close()
  t.same(await settledCharges(gateway), [])
})

await t.test('a failed item leaves a charge of zero, and the session continues', async t => {
  const { gateway, client } = await start(t, session => {
    let isFailing = true
    transcribe(session, false)
    session.socket.on('message', (data: Buffer) => {
      if (!data.toString().includes('.commit')) return
      const [kind, item_id] = isFailing ? ['failed', 'item_1'] : ['completed', 'item_2']
      isFailing = false
      session.socket.send(JSON.stringify({ type: `${prefix}.${kind}`, item_id, usage, error: {} }))
    })
  })
  client.send(update('gpt-4o-transcribe'))
  await sendAudio(client)
  await client.next(`${prefix}.failed`)
  await sendAudio(client)
  await until(() => transcripts(client) === 1)
  const charges = await gateway.charges()
  t.equal(charges.length, 2)
  t.equal(charges.at(-1)?.amount, '0.025000')
})

await t.test('without money no audio is forwarded, and the client receives the reason', async t => {
  const { gateway, client } = await start(t, session => transcribe(session), { rub: 0.01 })
  client.send(update('gpt-4o-transcribe'))
  await client.next('session.updated')
  client.send({ type: 'input_audio_buffer.append', audio: second })
  t.equal((await client.closed).code, 1008)
  t.match(client.received.at(-1), 'insufficient_quota')
  t.equal(gateway.upstream.sessions[0]?.received.length, 1)
  t.same(await settledCharges(gateway), [])
})

await t.test('the emulator of the API transcribes through the gateway', async t => {
  const gateway = await startEmulatedGateway(t)
  const counted = { ...usage, input_tokens: 60, input_token_details: { audio_tokens: 60, text_tokens: 0 } }
  gateway.mock.prependFixture({
    match: { endpoint: 'realtime-transcription' },
    response: { transcription: { text: 'Spoken, and written down.', usage: counted } },
  })
  const url = `${gateway.url}/v1/realtime?intent=transcription`
  const client = await openSession(t, url, { key: gateway.key })
  client.send(update('gpt-4o-transcribe', { turn_detection: null }))
  await client.next('session.updated')
  await sendAudio(client)
  const done = await client.next(`${prefix}.completed`)
  t.equal(done['transcript'], 'Spoken, and written down.')
  t.match(await gateway.charges(), [
    { model: 'gpt-4o-transcribe', usage: { audioInput: 60, output: 5 }, usageSource: 'provider', flags: [] },
  ])
  client.socket.close()
  t.same(await gateway.breaches(), [])
})
