import t from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call, jobClients, submit } from '../fixtures/job-kinds.ts'
import { startJobProvider } from '../fixtures/job-provider.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const server = await startPostgres(t)

await t.test('three polling nodes and clients at each of them charge every job once', async t => {
  const provider = await startJobProvider(t)
  const config = { ...jobConfig(provider.origin, 20), store: await server.createDatabase() }
  const first = await startTestGateway(t, { config, rub: 5000 })
  const nodes = [first]
  for (let count = 0; count < 2; count += 1) nodes.push(await startTestGateway(t, { config, beside: first }))
  const jobs: { id: string; path: string; requestId: string; cost: number }[] = []
  for (const [index, client] of [...jobClients, ...jobClients].entries()) {
    const node = nodes[index % nodes.length] ?? first
    const { id, requestId } = await submit(node, client)
    jobs.push({ id, path: client.pathOf(id), requestId, cost: client.cost })
  }
  const { heldMicros } = await first.balance()
  t.ok(heldMicros > 0)
  await nodes.pop()?.gateway.close(1000)
  t.equal((await first.balance()).heldMicros, heldMicros, 'the holds of a node outlive it')

  for (const { id } of jobs) provider.end(id, 'done')
  const asking = jobs.flatMap(({ path }) =>
    nodes.map(async node => t.equal((await call(node, 'GET', path)).status, 200)),
  )
  await Promise.all(asking)
  await until(async () => (await first.charges()).length === jobs.length, 20_000)
  await until(async () => (await first.balance()).heldMicros === 0, 20_000)
  const charges = await first.charges()
  for (const { requestId, cost } of jobs) {
    t.strictSame(
      charges.filter(charge => charge.requestId === requestId).map(({ amount, flags }) => [amount, flags]),
      [[cost.toFixed(6), []]],
    )
  }
  t.same(await first.breaches(), [])
})
