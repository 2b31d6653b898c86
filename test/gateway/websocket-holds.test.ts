import t, { type Test } from 'tap'
import { openSession, type SessionClient } from '../fixtures/session-client.ts'
import {
  rubPerMillion,
  settledCharges,
  startSessionGateway,
  usage,
  type SessionGateway,
} from '../fixtures/session-gateway.ts'
import type { ProviderSession } from '../fixtures/session-upstream.ts'
import { until } from '../fixtures/until.ts'

const listening = { turn_detection: { type: 'server_vad' } }

/** A provider that sends the state of its session, and nothing more until `say` is called. */
function sayOnly(session: object): (provider: ProviderSession) => void {
  return ({ socket }) => socket.send(JSON.stringify({ type: 'session.created', session }))
}

function say(gateway: SessionGateway, event: unknown): void {
  gateway.upstream.sessions[0]?.socket.send(JSON.stringify(event))
}

/**
 * Waits until the provider has received so many messages, and returns what is held then: the provider's message is
 * relayed only when all holds are on the disk.
 */
async function heldAt({ gateway, client }: Started, messages: number): Promise<number> {
  await until(() => (gateway.upstream.sessions[0]?.received.length ?? 0) >= messages)
  const type = `heard ${messages}`
  say(gateway, { type })
  await client.next(type)
  return (await gateway.balance()).heldMicros
}

interface Started {
  readonly gateway: SessionGateway
  readonly client: SessionClient
}

async function start(
  t: Test,
  session: object,
  options: Parameters<typeof startSessionGateway>[2] = {},
): Promise<Started> {
  // With abort, the gateway does not wait for a response that never comes once the client has left.
  const provider = { onClientLeft: 'abort', ...options.provider }
  const gateway = await startSessionGateway(t, sayOnly(session), { ...options, provider })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  await client.next('session.created')
  return { gateway, client }
}

/** A message of the conversation with this many bytes of text. */
function item(bytes: number): object {
  const content = [{ type: 'input_text', text: 'x'.repeat(bytes) }]
  return { type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }
}

await t.test('a ready hold is replaced by a larger one for a response that needs more', async t => {
  const session = await start(t, { ...listening, max_output_tokens: 10 })
  const { gateway, client } = session
  client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  t.ok((await heldAt(session, 1)) < 500_000)
  client.send({ type: 'response.create', response: { max_output_tokens: 1000 } })
  const held = await heldAt(session, 2)
  t.ok(held >= 1_000_000, `1000 tokens are held for: ${held}`)
  client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  t.equal(await heldAt(session, 3), held, 'and the ready hold is released')
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('the ready hold grows with the input', async t => {
  const session = await start(t, listening, { rub: 11 })
  const { gateway, client } = session
  const minute = Buffer.alloc(60 * 48_000).toString('base64')
  client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  t.ok((await heldAt(session, 1)) < 1_500_000)
  client.send({ type: 'input_audio_buffer.append', audio: minute })
  t.ok((await heldAt(session, 2)) >= 1_000_000 + 60 * 32_000)
  client.send(item(9000))
  t.ok((await heldAt(session, 3)) >= 1_000_000 + 60 * 32_000 + 2_000_000, 'also with text')
  client.send({ type: 'input_audio_buffer.append', audio: minute })
  client.send({ type: 'input_audio_buffer.append', audio: minute })
  t.ok((await heldAt(session, 5)) >= 1_000_000 + 180 * 32_000)
  client.send({ type: 'input_audio_buffer.append', audio: minute })
  t.equal((await client.closed).code, 1008, 'until the balance does not cover it')
  t.equal(gateway.upstream.sessions[0]?.received.length, 5)
  t.same(await settledCharges(gateway), [])
  t.same(await gateway.breaches(), [])
})

const mcp = { type: 'mcp', server_label: 'pages', server_url: 'https://example.com/mcp' }
/** Ten rounds of a window of 100,000 tokens, at 0.001 roubles each. */
const pagesMicros = 1_000_000_000
const models = {
  'gpt-realtime': { provider: 'openai', contextTokensMax: 100_000, outputTokensMax: 1000, rubPerMillion },
}

for (const [where, session, opening, response, isHeld] of [
  ['by its session', { tools: [mcp] }, [], {}, true],
  ['by a change of its session', {}, [{ type: 'session.update', session: { tools: [mcp] } }], {}, true],
  ['by itself', {}, [], { tools: [mcp] }, true],
  ['nowhere', { tools: [{ type: 'function', name: 'f' }] }, [], {}, false],
] as const) {
  await t.test(`a turn is held for with the provider's tools that are named ${where}`, async t => {
    const sessionState = { turn_detection: null, ...session }
    const started = await start(t, sessionState, { rub: 2000, config: { models } })
    const { gateway, client } = started
    for (const message of opening) client.send(message)
    client.send({ type: 'response.create', response })
    await heldAt(started, opening.length + 1)
    t.equal((await gateway.balance()).worstMicros >= pagesMicros, isHeld)
    client.socket.close()
    await settledCharges(gateway)
  })
}

await t.test('tools that the provider reports as removed from the session are not held for', async t => {
  const started = await start(t, { turn_detection: null, tools: [mcp] }, { rub: 2000, config: { models } })
  const { gateway, client } = started
  client.send({ type: 'session.update', session: { tools: [mcp] } })
  client.send({ type: 'session.update', session: { tools: [] } })
  for (const tools of [[mcp], []]) {
    say(gateway, { type: 'session.updated', session: { turn_detection: null, tools } })
  }
  await until(() => client.received.filter(text => text.includes('session.updated')).length === 2)
  client.send({ type: 'response.create' })
  await heldAt(started, 3)
  t.ok((await gateway.balance()).worstMicros < pagesMicros)
  client.socket.close()
  await settledCharges(gateway)
})

const pcmuInput = { format: { type: 'audio/pcmu' }, turn_detection: { type: 'server_vad' } }
const narrowInput = { format: { type: 'audio/pcm', rate: 8000 }, turn_detection: { type: 'server_vad' } }

for (const [form, session, bytesPerSecond] of [
  ['pcmu', { audio: { input: pcmuInput } }, 8000],
  ['g711_alaw', { ...listening, input_audio_format: 'g711_alaw' }, 8000],
  ['pcm of 8,000 samples', { audio: { input: narrowInput } }, 16_000],
  ['pcm16', { ...listening, input_audio_format: 'pcm16' }, 48_000],
] as const) {
  await t.test(`audio counts by its length: ${form}`, async t => {
    const { gateway, client } = await start(t, session)
    const minute = Buffer.alloc(60 * bytesPerSecond).toString('base64')
    client.send({ type: 'input_audio_buffer.append', audio: minute })
    const held = await heldAt({ gateway, client }, 1)
    // 1000 tokens of a response, a minute of 32 tokens a second, and room for ten more seconds.
    t.ok(held >= 1_000_000 + 60 * 32_000 && held <= 1_100_000 + 71 * 32_000, `held: ${held}`)
    client.socket.close()
    await settledCharges(gateway)
  })
}

await t.test(
  'audio after a change of its format may be in the smallest format until the provider confirms it',
  async t => {
    const { gateway, client } = await start(t, listening, { rub: 100 })
    client.send({ type: 'session.update', session: { audio: { input: pcmuInput } } })
    const minute = Buffer.alloc(60 * 8000).toString('base64')
    client.send({ type: 'input_audio_buffer.append', audio: minute })
    const held = await heldAt({ gateway, client }, 2)
    t.ok(held >= 1_000_000 + 60 * 32_000, `held: ${held}`)
    client.socket.close()
    await settledCharges(gateway)
  },
)

for (const [mimeType, bytesPerSecond] of [
  ['audio/pcm', 32_000],
  ['audio/pcm;rate=16000', 32_000],
  ['audio/pcm; rate=48000', 96_000],
  ['audio/pcm;rate=999999999', 96_000],
] as const) {
  await t.test(`Live audio counts by its length: ${mimeType}`, async t => {
    const gateway = await startSessionGateway(t, ({ socket }) => {
      socket.once('message', () => socket.send('{"setupComplete":{}}'))
    })
    const client = await openSession(t, gateway.liveUrl, { key: gateway.key })
    client.send({ setup: { model: 'models/gemini-live' } })
    await client.next('setupComplete')
    const data = Buffer.alloc(60 * bytesPerSecond).toString('base64')
    client.send({ realtimeInput: { audio: { data, mimeType } } })
    const held = await heldAt({ gateway, client }, 2)
    t.ok(held >= 1_000_000 + 60 * 32_000 && held <= 1_100_000 + 71 * 32_000, `held: ${held}`)
    client.socket.close()
    await settledCharges(gateway)
  })
}

await t.test('audio in small pieces needs a hold now and then, not one for each', async t => {
  const session = await start(t, listening)
  const { gateway, client } = session
  const piece = Buffer.alloc(4800).toString('base64')
  const held = new Set<number>()
  for (let count = 1; count <= 50; count += 1) {
    client.send({ type: 'input_audio_buffer.append', audio: piece })
    held.add(await heldAt(session, count))
  }
  t.equal(held.size, 1, 'five seconds fit into one hold')
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('input during a response is held for with the next one', async t => {
  const session = await start(t, { turn_detection: null })
  const { gateway, client } = session
  client.send({ type: 'response.create' })
  await heldAt(session, 1)
  say(gateway, { type: 'response.created', response: { id: 'r' } })
  await client.next('response.created')
  client.send(item(9000))
  await heldAt(session, 2)
  say(gateway, { type: 'response.done', response: { id: 'r', usage } })
  await client.next('response.done')
  client.send({ type: 'response.create' })
  const held = await heldAt(session, 3)
  t.ok(held >= 1_000_000 + 150_000 + 2_000_000, `9000 bytes more than were counted: ${held}`)
  client.socket.close()
  await settledCharges(gateway)
})

for (const apart of [{ conversation: 'none' }, { input: [] }]) {
  await t.test(
    `a response with ${JSON.stringify(apart)} does not change the length of the conversation`,
    async t => {
      const session = await start(t, { turn_detection: null }, { rub: 100 })
      const { gateway, client } = session
      const finish = async (id: string, tokens: number, from: number): Promise<void> => {
        await heldAt(session, from + 1)
        say(gateway, { type: 'response.created', response: { id } })
        say(gateway, {
          type: 'response.done',
          response: {
            id,
            usage: { ...usage, input_tokens: tokens, input_token_details: { text_tokens: tokens } },
          },
        })
        await until(() => client.received.filter(text => text.includes('response.done')).length === from + 1)
      }
      client.send({ type: 'response.create' })
      await finish('main', 20_000, 0)
      client.send({ type: 'response.create', response: apart })
      await finish('apart', 5, 1)
      client.send({ type: 'response.create' })
      const held = await heldAt(session, 3)
      t.ok(held >= 21_000_000, `the 20000 tokens are read again: ${held}`)
      client.socket.close()
      t.equal((await settledCharges(gateway)).length, 3, 'the abandoned one is charged too')
    },
  )
}

await t.test(
  'a cap counts once the provider reports it, and applies to responses without a cap of their own',
  async t => {
    const session = await start(t, { turn_detection: null, max_output_tokens: 100 }, { rub: 100 })
    const { gateway, client } = session
    const heldMore = async (event: object): Promise<number> => {
      const before = (await gateway.balance()).heldMicros
      const count = gateway.upstream.sessions[0]?.received.length ?? 0
      client.send(event)
      return (await heldAt(session, count + 1)) - before
    }
    t.ok((await heldMore({ type: 'response.create' })) < 300_000, 'the provider has reported it')
    t.ok((await heldMore({ type: 'response.create', response: { max_output_tokens: 'inf' } })) >= 1_000_000)
    t.ok(
      (await heldMore({
        type: 'response.create',
        response: { max_output_tokens: 'inf', max_response_output_tokens: 1 },
      })) >= 1_000_000,
    )
    client.send({ type: 'session.update', session: { max_output_tokens: 1, bogus: true } })
    await heldAt(session, 4)
    say(gateway, { type: 'error', error: { message: 'Unknown parameter' } })
    await client.next('error')
    client.send({ type: 'response.create' })
    client.send({ type: 'response.create' })
    // One of the earlier holds is ready since the error.
    t.ok((await heldAt(session, 6)) >= 3_000_000, 'a refused cap does not count')
    client.socket.close()
    await settledCharges(gateway)
  },
)

await t.test("a response's own cap counts, however few tokens the operator expects", async t => {
  const session = await start(t, { turn_detection: null }, { config: { hold: { likelyOutputTokens: 100 } } })
  const { gateway, client } = session
  client.send({ type: 'response.create' })
  const expected = await heldAt(session, 1)
  t.ok(expected < 200_000)
  client.send({ type: 'response.create', response: { max_output_tokens: 1000 } })
  t.ok((await heldAt(session, 2)) > expected)
  t.ok((await gateway.balance()).worstMicros >= 2_000_000, 'the worst cost of each counts')
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('a removed cap no longer applies', async t => {
  const session = await start(t, { turn_detection: null })
  const { gateway, client } = session
  client.send({ type: 'session.update', session: { max_output_tokens: 10 } })
  await heldAt(session, 1)
  say(gateway, { type: 'session.updated', session: { turn_detection: null, max_output_tokens: 10 } })
  await client.next('session.updated')
  client.send({ type: 'session.update', session: { max_output_tokens: 'inf' } })
  client.send({ type: 'response.create' })
  t.ok((await heldAt(session, 3)) >= 1_000_000)
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('a spoken response is held for as speech, whatever the session is', async t => {
  const model = {
    provider: 'openai',
    outputTokensMax: 1000,
    rubPerMillion: { ...rubPerMillion, audioOutput: '4000' },
  }
  const session = await start(
    t,
    { turn_detection: null, output_modalities: ['text'] },
    { rub: 20, config: { models: { 'gpt-realtime': model } } },
  )
  const { gateway, client } = session
  client.send({ type: 'response.create' })
  const text = await heldAt(session, 1)
  t.ok(text < 2_000_000, 'the session is text')
  client.send({ type: 'response.create', response: { output_modalities: ['audio'] } })
  t.ok((await heldAt(session, 2)) - text >= 4_000_000)
  client.send({ type: 'session.update', session: { output_modalities: ['audio'] } })
  client.send({ type: 'response.create' })
  t.ok((await heldAt(session, 4)) - text >= 8_000_000, 'and a change that is not confirmed may be speech')
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('images are held for', async t => {
  const session = await start(
    t,
    { turn_detection: null },
    {
      config: {
        models: {
          'gpt-realtime': {
            provider: 'openai',
            outputTokensMax: 1000,
            rubPerMillion: { ...rubPerMillion, imageInput: '1000' },
          },
        },
      },
    },
  )
  const { gateway, client } = session
  const content = [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }]
  client.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
  client.send({ type: 'response.create' })
  t.ok((await heldAt(session, 2)) >= 2_600_000)
  client.socket.close()
  await settledCharges(gateway)
})

await t.test('a session priced by the second is held for and estimated by seconds', async t => {
  const session = await start(
    t,
    { turn_detection: null },
    {
      rub: 100,
      config: {
        models: {
          'gpt-realtime': {
            provider: 'openai',
            outputTokensMax: 1000,
            rubPerMillion: { output: '1' },
            rubPerUnit: { audioSeconds: '0.1' },
          },
        },
      },
    },
  )
  const { gateway, client } = session
  client.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48_000 * 10).toString('base64') })
  client.send({ type: 'response.create' })
  const held = await heldAt(session, 2)
  t.ok(held >= 5_000_000, `ten seconds of input, and the forty of 1000 tokens of output: ${held}`)
  say(gateway, { type: 'response.created', response: { id: 'r' } })
  say(gateway, {
    type: 'response.output_audio.delta',
    response_id: 'r',
    delta: Buffer.alloc(96_000).toString('base64'),
  })
  await client.next('response.output_audio.delta')
  client.socket.terminate()
  t.match(await settledCharges(gateway), [
    { amount: '1.200000', usageSource: 'estimated', usage: { audioSeconds: 12 } },
  ])
})

await t.test('a revoked key begins no response with a ready hold either', async t => {
  const session = await start(t, listening)
  const { gateway, client } = session
  client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
  await heldAt(session, 1)
  await gateway.accounts.revokeKey(gateway.keyId)
  client.send({ type: 'response.create' })
  t.equal((await client.closed).code, 1008)
  t.match(client.received.at(-1), 'was revoked')
  t.equal(gateway.upstream.sessions[0]?.received.length, 1, 'it was not sent')
  t.same(await settledCharges(gateway), [])
})
