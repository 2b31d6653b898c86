import t from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import { settledCharges, startSessionGateway, usage, usedMeters } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'

await t.test('a response that is reported as done twice is charged once', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    const say = (event: unknown): void => socket.send(JSON.stringify(event))
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string }
      if (type !== 'response.create') return
      say({ type: 'response.created', response: { id: 'r' } })
      say({ type: 'response.done', response: { id: 'r', usage } })
      say({ type: 'response.done', response: { id: 'r', usage } })
      say({ type: 'last' })
    })
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create' })
  await client.next('last')
  t.equal(client.received.length, 4, 'all of it is relayed')
  client.socket.close()
  t.match(await settledCharges(gateway), [{ usage: usedMeters }])
  t.equal((await gateway.charges()).length, 1)
  t.ok(gateway.logLines.some(line => line.includes('usage_repeated')))
  t.same(await gateway.breaches(), [])
})

await t.test('a transcript that is reported twice is charged once', async t => {
  const transcript = (item: string): string =>
    JSON.stringify({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: item,
      content_index: 0,
      usage: { type: 'tokens', input_tokens: 10, output_tokens: 0, total_tokens: 10 },
    })
  const gateway = await startSessionGateway(t, ({ socket }) => {
    for (const item of ['a', 'a', 'b']) socket.send(transcript(item))
    socket.send('{"type":"last"}')
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  await client.next('last')
  client.socket.close()
  t.equal((await settledCharges(gateway)).length, 2)
})

await t.test('usage after the end of its turn is not charged beside the estimate', async t => {
  const setup = { setup: { model: 'models/gemini-live' } }
  const usageMetadata = { promptTokenCount: 400, responseTokenCount: 100, totalTokenCount: 500 }
  const gateway = await startSessionGateway(t, ({ socket }) => {
    const say = (event: unknown): void => socket.send(JSON.stringify(event))
    let count = 0
    socket.on('message', () => {
      count += 1
      if (count === 1) say({ setupComplete: {} })
      if (count !== 3) return
      say({ serverContent: { modelTurn: { parts: [{ text: 'x'.repeat(400) }] } } })
      say({ serverContent: { turnComplete: true } })
      say({ usageMetadata })
    })
  })
  const client = await openSession(t, gateway.liveUrl, { key: gateway.key })
  client.send(setup)
  await client.next('setupComplete')
  const audio = { realtimeInput: { audio: { data: 'AAAA', mimeType: 'audio/pcm' } } }
  client.send(audio)
  client.send(audio)
  await client.next('usageMetadata')
  client.send(audio)
  await until(() => gateway.upstream.sessions[0]?.received.length === 4)
  client.socket.close()
  const charges = await settledCharges(gateway)
  t.equal(charges.length, 1)
  t.match(charges[0]?.flags, ['usage_missing', 'estimate_rough'])
  t.ok(gateway.logLines.some(line => line.includes('usage_unmatched')))
})

await t.test('a turn without text is charged by the usage that ends it', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    socket.once('message', () => {
      const usageMetadata = { promptTokenCount: 400, totalTokenCount: 400 }
      socket.send(JSON.stringify({ serverContent: { turnComplete: true }, usageMetadata }))
    })
  })
  const client = await openSession(t, gateway.liveUrl, { key: gateway.key })
  client.send({ setup: { model: 'models/gemini-live' } })
  await client.next('usageMetadata')
  client.socket.close()
  t.match(await settledCharges(gateway), [{ usage: { input: 400 }, amount: '0.400000' }])
})
