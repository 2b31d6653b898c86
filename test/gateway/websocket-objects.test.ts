import t from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const foreign = [
  { type: 'session.update', session: { type: 'realtime', prompt: { id: 'pmpt_1' } } },
  { type: 'response.create', response: { prompt: { id: 'pmpt_1' } } },
  { type: 'conversation.item.create', item: { content: [{ type: 'input_image', file_id: 'file-1' }] } },
  {
    type: 'response.create',
    response: { input: [{ content: [{ type: 'input_image', file_id: 'file-1' }] }] },
  },
  { type: 'session.update', session: { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] } },
]

await t.test(
  'a Realtime event that names an object outside the account is refused, and the session continues',
  async t => {
    const gateway = await startSessionGateway(t, answerResponses)
    const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
    for (const [index, event] of foreign.entries()) {
      client.send(event)
      await until(
        () => client.received.filter(text => text.includes('object_not_found')).length === index + 1,
      )
    }
    client.send('{"type":"response.create","response":{"pr\\u006fmpt":{"\\u0069d":"pmpt_1"}}}')
    await until(() => client.received.filter(text => text.includes('object_not_found')).length === 6)
    t.equal(gateway.upstream.sessions[0]?.received.length, 0)
    await noHoldIsLeft(t, gateway)
    client.send({ type: 'response.create' })
    await client.next('response.done')
    client.socket.close()
  },
)

await t.test('a message of Gemini Live that names a file outside the account ends the session', async t => {
  const fileData = {
    fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/theirs',
    mimeType: 'image/png',
  }
  const content = { role: 'user', parts: [{ fileData }] }
  const messages = [
    { clientContent: { turns: [content], turnComplete: true } },
    { client_content: { turns: [{ parts: [{ file_data: { file_uri: 'files/theirs' } }] }] } },
    { toolResponse: { functionResponses: [{ name: 'f', parts: [{ fileData }] }] } },
  ]
  const setup = { model: 'models/gemini-live' }
  for (const message of messages) {
    const gateway = await startSessionGateway(t, ({ socket }) => {
      socket.once('message', () => socket.send('{"setupComplete":{}}'))
    })
    const client = await openSession(t, `${gateway.liveUrl}?key=${gateway.key}`)
    client.send({ setup })
    await client.next('setupComplete')
    client.send(message)
    const { code, reason } = await client.closed
    t.equal(code, 1008)
    t.match(reason, 'No file with the id "files/theirs" was found')
    t.equal(gateway.upstream.sessions[0]?.received.length, 1, 'only the setup was sent')
  }
  const gateway = await startSessionGateway(t, () => undefined)
  const client = await openSession(t, `${gateway.liveUrl}?key=${gateway.key}`)
  client.send({ setup: { ...setup, systemInstruction: content } })
  t.match(await client.closed, { code: 1008, reason: /files\/theirs/ })
  t.equal(gateway.upstream.sessions.length, 0)
})
