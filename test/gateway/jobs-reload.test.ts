import { writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { plugins } from '../../plugins/index.ts'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { jobClients, submit } from '../fixtures/job-kinds.ts'
import { startJobProvider } from '../fixtures/job-provider.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import type { ConfigSections } from '../fixtures/test-gateway.ts'

const oftenMs = 20
const credit = 1_000_000_000
const isOpenAi = ['a video', 'a background response']

interface JobSections {
  providers: Record<string, ConfigSections>
  models: Record<string, ConfigSections>
  defaultProvider: Record<string, string>
}

/** The config of the job tests with this change. */
function changed(origin: string, change: (sections: JobSections) => void): ConfigSections {
  const sections = structuredClone(jobConfig(origin, oftenMs))
  change(sections as unknown as JobSections)
  return sections
}

const expensive = { rubPerMillion: { input: '7000', output: '7000' }, rubPerUnit: { videoSeconds: '7000' } }

/** Changes of the configuration while a job is open, and whether its provider can still be polled. */
const changes: readonly (readonly [string, boolean, (sections: JobSections) => void])[] = [
  ['its model is removed', true, ({ models }) => ['sora-2', 'gpt-5'].forEach(name => delete models[name])],
  [
    'its model is repriced',
    true,
    ({ models }) => ['sora-2', 'gpt-5'].forEach(name => Object.assign(models[name] ?? {}, expensive)),
  ],
  [
    'its credential has another value',
    true,
    ({ providers }) => Object.assign(providers['openai'] ?? {}, { credentials: ['renewed'] }),
  ],
  [
    'its credential is removed',
    false,
    ({ providers }) =>
      Object.assign(providers['openai'] ?? {}, { credentials: [{ name: 'other', value: 'other' }] }),
  ],
  [
    'its provider is renamed',
    false,
    ({ providers, models, defaultProvider }) => {
      providers['renamed'] = { ...providers['openai'], like: 'openai' }
      delete providers['openai']
      for (const name of ['sora-2', 'gpt-5']) Object.assign(models[name] ?? {}, { provider: 'renamed' })
      defaultProvider['openai'] = 'renamed'
    },
  ],
]

for (const client of jobClients.filter(({ name }) => isOpenAi.includes(name))) {
  await t.test(
    `${client.name}: an open job is charged once after each change of the configuration`,
    async t => {
      const provider = await startJobProvider(t)
      const test = await startTestGateway(t, { config: jobConfig(provider.origin, oftenMs) })
      const reload = async (sections: ConfigSections): Promise<void> => {
        writeFileSync(
          `${test.folder}/next.yaml`,
          stringify({ ...sections, store: `sqlite:${test.storeFile}`, listen: { port: 0 } }),
        )
        await test.gateway.reload(loadConfig(`${test.folder}/next.yaml`, { env: {}, plugins }).config)
      }
      let spent = 0
      for (const [what, canBePolled, change] of changes) {
        const { id, requestId } = await submit(test, client)
        const { heldMicros } = await test.balance()
        const before = test.logLines.length
        const alarms = (): string[] =>
          test.logLines.slice(before).filter(line => line.includes('job_unanswered') && line.includes(id))

        await reload(changed(provider.origin, change))
        provider.end(id, 'done')

        if (!canBePolled) {
          await until(() => alarms().length > 0)
          t.match(alarms()[0], /openai#1.*put it back/, `${what}: the alarm names what is missing`)
          t.equal((await test.balance()).heldMicros, heldMicros, `${what}: the hold stays`)
          await reload(jobConfig(provider.origin, oftenMs))
        }
        const chargeOf = async () => (await test.charges()).find(one => one.requestId === requestId)
        await until(async () => (await chargeOf()) !== undefined)
        const charge = await chargeOf()
        spent += Math.round(client.cost * 1e6)
        t.equal(Number(charge?.amount), client.cost, `${what}: it is charged at the price of its submission`)
        t.match(await test.balance(), { balanceMicros: credit - spent, heldMicros: 0 }, what)
        if (canBePolled) t.same(alarms(), [], `${what}: there is no alarm`)
        await reload(jobConfig(provider.origin, oftenMs))
      }
      t.equal((await test.charges()).length, changes.length, 'each once')
      t.same(await test.breaches(), [])
    },
  )
}
