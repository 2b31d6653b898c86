import t from 'tap'
import { batchClients } from '../fixtures/batch-clients.ts'
import { batchConfig, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider } from '../fixtures/batch-provider.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway, usedMeters } from '../fixtures/session-gateway.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const server = await startPostgres(t)

await t.test('the turns of a session on PostgreSQL are charges of one exchange', async t => {
  const gateway = await startSessionGateway(t, answerResponses, {
    config: { store: await server.createDatabase() },
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  for (const turn of [1, 2]) {
    client.send({ type: 'response.create' })
    await until(() => client.received.filter(text => text.includes('response.done')).length === turn)
    t.equal((await gateway.charges()).length, turn, 'the charge exists when the end of the turn arrives')
  }
  client.send({ type: 'response.create', response: { prompt: { id: 'pmpt_1' } } })
  await until(() => client.received.some(text => text.includes('object_not_found')))
  client.socket.close()
  await until(async () => (await gateway.balance()).heldMicros === 0)
  const charges = await gateway.charges()
  t.equal(new Set(charges.map(({ requestId }) => requestId)).size, 1)
  for (const charge of charges) t.match(charge, { usage: usedMeters, amount: '0.150000', flags: [] })
  t.same(await gateway.breaches(), [])
})

for (const client of batchClients) {
  await t.test(`${client.name}: a batch on PostgreSQL is charged by the next gateway`, async t => {
    const provider = await startBatchProvider(t)
    const config = { ...batchConfig(provider.origin, 20), store: await server.createDatabase() }
    const first = await startTestGateway(t, { config })
    const id = await client.make(first)
    const { heldMicros } = await first.balance()
    t.ok(heldMicros > 0)
    await first.gateway.close(1000)
    provider.finish(provider.lastBatch())

    const second = await startTestGateway(t, { config, beside: first })
    t.ok(await client.ask({ url: second.url, key: first.key }, id))
    await until(async () => (await second.charges()).length > 0)
    await until(async () => (await second.balance()).heldMicros === 0)
    const charges = await second.charges()
    t.equal(charges.length, 1)
    t.equal(Math.round(Number(charges[0]?.amount) * 1e6), costOf([0, 1, 2]))
    t.same(await second.breaches(), [])
  })
}
