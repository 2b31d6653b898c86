import t from 'tap'
import { runGateway } from '../cli/run-gateway.ts'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call, jobClients, submit } from '../fixtures/job-kinds.ts'
import { startJobProvider } from '../fixtures/job-provider.ts'
import { startKillableGateway } from '../fixtures/killable-gateway.ts'

const credit = 1_000_000_000
const micros = (roubles: number): number => Math.round(roubles * 1e6)

/** The gateway asks by itself. */
const oftenMs = 20

for (const client of jobClients) {
  await t.test(
    `${client.name}: killed and started in between, it is charged once, by whoever asks`,
    async t => {
      const provider = await startJobProvider(t)
      const gateway = await startKillableGateway(t, jobConfig(provider.origin, oftenMs))
      const { id, requestId } = await submit(gateway, client)
      const { heldMicros } = await gateway.money()
      t.ok(heldMicros >= micros(client.cost), 'what it may cost is held')

      await gateway.restart()
      t.equal((await gateway.money()).heldMicros, heldMicros, 'the hold outlives the process')
      t.equal((await call(gateway, 'GET', client.pathOf(id))).status, 200)
      t.same(await gateway.charges(), [], 'nothing is charged while it runs')

      provider.end(id, 'done')
      const charge = await gateway.charge()
      t.match(charge, { requestId, usageSource: 'provider', outcome: 'completed', flags: [] })
      t.equal(micros(Number(charge.amount)), micros(client.cost))
      t.match(await gateway.money(), { balanceMicros: credit - micros(client.cost), heldMicros: 0 })

      await gateway.restart()
      t.equal((await call(gateway, 'GET', client.pathOf(id))).status, 200)
      t.equal((await gateway.charges()).length, 1, 'what is fetched again is free')
      const { code, stdout, stderr } = await runGateway(['verify', '--config', gateway.config])
      t.equal(code, 0, stdout + stderr)
    },
  )
}
