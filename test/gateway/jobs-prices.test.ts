import t from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call, jobClients, submit } from '../fixtures/job-kinds.ts'
import { startJobProvider } from '../fixtures/job-provider.ts'
import { startKillableGateway } from '../fixtures/killable-gateway.ts'

const micros = (roubles: number): number => Math.round(roubles * 1e6)

/** The gateway does not poll within a test: the end is seen only in responses to the client. */
const seldomMs = 600_000

for (const client of jobClients) {
  await t.test(
    `${client.name}: a response to the client charges it, at the price of the submission`,
    async t => {
      const provider = await startJobProvider(t)
      const gateway = await startKillableGateway(t, jobConfig(provider.origin, seldomMs))
      const { id, requestId } = await submit(gateway, client)
      const expensive = {
        rubPerMillion: { input: '7000', output: '7000' },
        rubPerUnit: { videoSeconds: '7000' },
      }
      const changed = {
        'sora-2': expensive,
        'veo-3': expensive,
        'gpt-5': expensive,
        'deep-research': expensive,
      }
      await gateway.restart(jobConfig(provider.origin, seldomMs, changed))

      provider.end(id, 'done')
      const answer = await call(gateway, 'GET', client.pathOf(id))
      t.equal(answer.status, 200)
      const [charge, ...more] = await gateway.charges()
      t.same(more, [])
      t.equal(charge?.requestId, requestId, 'before the response has ended')
      t.equal(micros(Number(charge?.amount)), micros(client.cost))
      t.not(answer.requestId, requestId)
      await call(gateway, 'GET', client.pathOf(id))
      t.equal((await gateway.charges()).length, 1)
      t.same(await gateway.breaches(), [])
    },
  )
}
