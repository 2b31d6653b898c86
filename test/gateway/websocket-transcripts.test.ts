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
  'audio that is only written down needs money too, and a transcript takes what stands ready',
  async t => {
    const gateway = await startSessionGateway(
      t,
      ({ socket }) => {
        socket.send(JSON.stringify(transcribing))
        let count = 0
        // The first costs more than is free while the next turn is held for.
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
    t.match(await gateway.charges(), [{ amount: '0.900000', flags: [] }], 'no overrun, since there was money')
    client.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
    t.equal((await client.closed).code, 1008)
    t.equal(gateway.upstream.sessions[0]?.received.length, 1, 'no audio is taken without money')
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
