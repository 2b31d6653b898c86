import t from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import { settledCharges, startSessionGateway } from '../fixtures/session-gateway.ts'

const transcribing = {
  type: 'session.updated',
  session: { audio: { input: { transcription: { model: 'gpt-realtime' }, turn_detection: null } } },
}

function transcript(tokens: number): object {
  const counted = { type: 'tokens', input_tokens: tokens, output_tokens: 0, total_tokens: tokens }
  return { type: 'conversation.item.input_audio_transcription.completed', usage: counted }
}

await t.test(
  'audio that is only transcribed needs money too, and a transcript may use the ready hold',
  async t => {
    const gateway = await startSessionGateway(
      t,
      ({ socket }) => {
        socket.send(JSON.stringify(transcribing))
        let count = 0
        // The first costs more than is available while the next turn is held for.
        socket.on('message', () => {
          count += 1
          socket.send(JSON.stringify(transcript(count === 1 ? 900 : 2000)))
        })
      },
      { rub: 1.5 },
    )
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    await client.next('session.updated')
    client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
    await client.next('conversation.item.input_audio_transcription.completed')
    t.match(
      await gateway.charges(),
      [{ amount: '0.900000', flags: [] }],
      'no overrun, since the balance covered it',
    )
    client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
    t.equal((await client.closed).code, 1008)
    t.equal(gateway.upstream.sessions[0]?.received.length, 1, 'no audio is accepted without money')
    t.equal((await settledCharges(gateway)).length, 1)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a transcript that the account cannot pay ends the session', async t => {
  const gateway = await startSessionGateway(
    t,
    ({ socket }) => {
      socket.send(JSON.stringify(transcript(2000)))
    },
    { rub: 1.5 },
  )
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  t.equal((await client.closed).code, 1008)
  t.match(await settledCharges(gateway), [{ amount: '1.500000', flags: ['overrun'] }])
  t.same(await gateway.breaches(), [])
})

const transcribed = 'conversation.item.input_audio_transcription'
const item = { item_id: 'item_1', content_index: 0 }
const committed = { type: 'input_audio_buffer.committed', item_id: 'item_1' }
const written = { type: `${transcribed}.delta`, ...item, delta: 'a'.repeat(400) }

interface Leaving {
  readonly name: string
  /** The provider's events before the client leaves, and after. */
  readonly before: readonly object[]
  readonly after: readonly object[]
  readonly charges: readonly object[]
}

/** A thousandth of a rouble a token; ten seconds of audio, which are 320 tokens of input. */
const leavings: readonly Leaving[] = [
  {
    name: 'is charged by the usage that arrives later',
    before: [committed, written],
    after: [{ ...transcript(900), ...item }],
    charges: [{ amount: '0.900000', flags: [] }],
  },
  {
    name: 'is charged by the usage, though no text had arrived',
    before: [committed],
    after: [{ ...transcript(900), ...item }],
    charges: [{ amount: '0.900000', flags: [] }],
  },
  {
    name: 'is estimated where its usage never arrives',
    before: [committed, written],
    after: [],
    charges: [{ amount: '0.420000', usageSource: 'estimated', flags: ['estimate_rough'] }],
  },
  {
    name: 'is estimated where the server begins it without a commit',
    before: [written],
    after: [],
    charges: [{ amount: '0.420000', usageSource: 'estimated', flags: ['estimate_rough'] }],
  },
  { name: 'costs nothing where no text arrived', before: [committed], after: [], charges: [] },
  {
    name: 'costs nothing where it fails',
    before: [committed, written],
    after: [{ type: `${transcribed}.failed`, ...item, error: {} }],
    charges: [],
  },
]

for (const { name, before, after, charges } of leavings) {
  await t.test(`a transcript whose client leaves before its end ${name}`, async t => {
    const gateway = await startSessionGateway(t, ({ socket }) => {
      socket.send(JSON.stringify(transcribing))
      socket.on('message', () => {
        for (const event of before) socket.send(JSON.stringify(event))
      })
    })
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    await client.next('session.updated')
    client.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(480_000).toString('base64') })
    await client.next(String((before.at(-1) as { type: string }).type))
    client.socket.close()
    await client.closed
    const provider = gateway.upstream.sessions[0]?.socket
    for (const event of after) provider?.send(JSON.stringify(event))
    if (after.length === 0) provider?.terminate()

    t.match(await settledCharges(gateway), charges)
    t.equal((await gateway.charges()).length, charges.length)
    t.equal((await gateway.balance()).heldMicros, 0)
    t.same(await gateway.breaches(), [])
  })
}
