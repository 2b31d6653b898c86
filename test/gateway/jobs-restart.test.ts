import t from 'tap'
import { runGateway } from '../cli/run-gateway.ts'
import { jobConfig, jobCosts } from '../fixtures/job-gateway.ts'
import { call, jobClients, streamedResponse, submit, submitStream } from '../fixtures/job-kinds.ts'
import { responseEvents, startJobProvider } from '../fixtures/job-provider.ts'
import { startKillableGateway } from '../fixtures/killable-gateway.ts'
import { until } from '../fixtures/until.ts'

const credit = 1_000_000_000
const micros = (roubles: number): number => Math.round(roubles * 1e6)

/** The gateway polls this often. */
const oftenMs = 20

for (const client of jobClients) {
  await t.test(`${client.name}: a job is charged once across kills and restarts`, async t => {
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
    t.equal((await gateway.charges()).length, 1, 'fetching it again is free')
    const { code, stdout, stderr } = await runGateway(['verify', '--config', gateway.config])
    t.equal(code, 0, stdout + stderr)
  })
}

await t.test('a job is charged once by polling after the gateway was killed during its stream', async t => {
  const provider = await startJobProvider(t)
  const gateway = await startKillableGateway(t, jobConfig(provider.origin, oftenMs))
  const { answer, firstEvent } = await submitStream(gateway)
  t.equal(firstEvent, responseEvents('resp_1', 'running')[0], 'byte for byte')

  await gateway.restart()
  const { heldMicros } = await gateway.money()
  t.ok(heldMicros >= micros(jobCosts.response), 'a job whose id the client has received keeps its hold')
  t.notMatch(gateway.log(), 'released a hold')

  await until(() => provider.seen.includes('GET /v1/responses/resp_1'))
  t.same(await gateway.charges(), [], 'nothing is charged while it runs')
  t.equal((await gateway.money()).heldMicros, heldMicros)

  provider.end('resp_1', 'done')
  t.match(await gateway.charge(), {
    requestId: answer.headers['x-gateway-request-id'],
    usageSource: 'provider',
    outcome: 'completed',
    amount: jobCosts.response.toFixed(6),
    flags: [],
  })
  t.match(await gateway.money(), { balanceMicros: credit - micros(jobCosts.response), heldMicros: 0 })
  await gateway.restart()
  t.equal((await gateway.charges()).length, 1)
  t.same(await gateway.breaches(), [])
})

await t.test('a submission that is killed before its response is released, and the log says so', async t => {
  const provider = await startJobProvider(t)
  provider.isMute = true
  const gateway = await startKillableGateway(t, jobConfig(provider.origin, oftenMs))
  const answering = t.rejects(call(gateway, 'POST', '/v1/responses', streamedResponse))
  await until(() => provider.jobs.size === 1)
  await until(async () => (await gateway.money()).heldMicros > 0)

  await gateway.restart()
  await answering
  t.match(await gateway.money(), { balanceMicros: credit, heldMicros: 0 })
  t.match(gateway.log(), 'released a hold that a crash left open')
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})
