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
  await t.test(`${client.name}: a batch is charged once across a kill and a restart`, async t => {
    const { gateway, provider } = await start(t)
    const id = await client.make(gateway)
    const { heldMicros } = await gateway.money()
    t.ok(heldMicros > 0, 'money is held at the submission')

    await gateway.restart()
    t.equal((await gateway.money()).heldMicros, heldMicros, 'the hold outlives the process')
    await client.ask(gateway, id)
    t.same(await gateway.charges(), [], 'nothing is charged while it runs')

    provider.finish(provider.lastBatch())
    const charge = await gateway.charge()
    t.equal(Math.round(Number(charge.amount) * 1e6), costOf([0, 1, 2]), 'the exact cost, at half the price')
    t.equal(charge.usageSource, 'provider')
    t.same(charge.flags, [])
    for (let count = 0; count < 3; count += 1) await client.ask(gateway, id)
    await gateway.restart()
    await client.ask(gateway, id)
    t.equal((await gateway.charges()).length, 1, 'one charge, however often the batch is retrieved')
    t.match(await gateway.money(), { balanceMicros: credit - costOf([0, 1, 2]), heldMicros: 0 })

    provider.forget()
    const other = { url: gateway.url, key: gateway.otherKey }
    const answer = await client.ask(other, id).catch((error: unknown) => error)
    t.match(answer, { status: 404 }, 'another account does not find the batch')
    t.same(provider.seen, [], 'and the provider receives no request')
    const { code, stdout, stderr } = await runGateway(['verify', '--config', gateway.config])
    t.equal(code, 0, stdout + stderr)
  })
}
