import t, { type Test } from 'tap'
import { runGateway } from '../cli/run-gateway.ts'
import { batchClients } from '../fixtures/batch-clients.ts'
import { costOf, startBatchGateway, type BatchGateway } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, type BatchProvider } from '../fixtures/batch-provider.ts'

const credit = 1_000_000_000

async function start(t: Test): Promise<{ gateway: BatchGateway; provider: BatchProvider }> {
  const provider = await startBatchProvider(t)
  return { provider, gateway: await startBatchGateway(t, provider.origin) }
}

for (const client of batchClients) {
  await t.test(`${client.name}: a batch is charged once, after a kill and a start in between`, async t => {
    const { gateway, provider } = await start(t)
    const id = await client.make(gateway)
    const { heldMicros } = await gateway.money()
    t.ok(heldMicros > 0, 'money is set aside at the submission')

    await gateway.restart()
    t.equal((await gateway.money()).heldMicros, heldMicros, 'the hold outlives the process')
    await client.ask(gateway, id)
    t.same(await gateway.charges(), [], 'nothing is charged while it runs')

    provider.finish(provider.lastBatch())
    const charge = await gateway.charge()
    t.equal(Math.round(Number(charge.amount) * 1e6), costOf([0, 1, 2]), 'the exact money, at half the price')
    t.equal(charge.usageSource, 'provider')
    t.same(charge.flags, [])
    for (let asked = 0; asked < 3; asked += 1) await client.ask(gateway, id)
    await gateway.restart()
    await client.ask(gateway, id)
    t.equal((await gateway.charges()).length, 1, 'one charge, however often it is asked after')
    t.match(await gateway.money(), { balanceMicros: credit - costOf([0, 1, 2]), heldMicros: 0 })

    provider.forget()
    const other = { url: gateway.url, key: gateway.otherKey }
    const answer = await client.ask(other, id).catch((error: unknown) => error)
    t.match(answer, { status: 404 }, "another's batch is not there")
    t.same(provider.seen, [], 'and nothing is asked of the provider')
    const { code, stdout, stderr } = await runGateway(['verify', '--config', gateway.config])
    t.equal(code, 0, stdout + stderr)
  })
}
