import t from 'tap'
import { namingMembers } from '../../lib/dialects/naming-members.ts'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'

// Messages of sessions name the same objects as bodies do; the messages are made from the same list.

const keys = Object.keys(namingMembers).map(key => key.replace('*', key.startsWith('*_') ? 'some' : 'some_'))

function value(key: string): string {
  return key.endsWith('skill_id') ? 'skill_theirs' : 'theirs'
}

const places: readonly ((named: object) => object)[] = [
  named => ({ type: 'session.update', session: named }),
  named => ({ type: 'session.update', session: { audio: { input: { transcription: named } } } }),
  named => ({ type: 'session.update', session: { input_audio_transcription: named } }),
  named => ({ type: 'session.update', session: { tools: [{ type: 'mcp', ...named }] } }),
  named => ({ type: 'response.create', response: named }),
  named => ({ type: 'response.create', response: { tools: [{ type: 'anything', parameters: named }] } }),
  named => ({ type: 'anything.else', somewhere: [{ deep: named }] }),
]

await t.test('a Realtime event that names a foreign object, or an unknown model, is refused', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  let count = 0
  for (const key of keys) {
    for (const place of places) {
      client.send(place({ [key]: value(key) }))
      count += 1
      await until(() => client.received.filter(text => text.includes('"error"')).length === count).catch(
        () => {
          t.fail(
            `${JSON.stringify(place({ [key]: value(key) }))}: ${client.received.at(-1)} ${client.received.length}`,
          )
        },
      )
    }
  }
  t.comment(`${count} messages`)
  const errors = client.received.filter(text => text.includes('"error"'))
  t.equal(errors.filter(text => /_not_found|not exist here/.test(text)).length, count)
  t.equal(gateway.upstream.sessions[0]?.received.length, 0, 'nothing is forwarded')
  client.send({
    type: 'session.update',
    session: { audio: { input: { transcription: { model: 'voice' } } } },
  })
  client.send({ type: 'response.create', response: { metadata: { model: 'noted' } } })
  await client.next('response.done')
  t.equal(gateway.upstream.sessions[0]?.received.length, 2)
  client.socket.close()
})

await t.test("a setup of Gemini Live that names another account's object does not begin", async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    socket.once('message', () => socket.send('{"setupComplete":{}}'))
  })
  for (const key of keys) {
    for (const named of [
      { [key]: value(key) },
      { generationConfig: { deep: { [key]: value(key) } } },
      { tools: [{ anything: { [key]: value(key) } }] },
    ]) {
      const client = await openSession(t, `${gateway.liveUrl}?key=${gateway.key}`)
      client.send({ setup: { model: 'models/gemini-live', ...named } })
      const { code, reason } = await client.closed
      t.equal(code, 1008, `${JSON.stringify(named)} ${reason}`)
    }
  }
  t.equal(gateway.upstream.sessions.length, 0)
})
