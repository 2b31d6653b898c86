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

/** The shipped test's config, changed. */
function changed(origin: string, change: (sections: JobSections) => void): ConfigSections {
  const sections = structuredClone(jobConfig(origin, oftenMs))
  change(sections as unknown as JobSections)
  return sections
}

const dear = { rubPerMillion: { input: '7000', output: '7000' }, rubPerUnit: { videoSeconds: '7000' } }

/** What can be changed under an open job, and whether its provider can be asked after it still. */
const changes: readonly (readonly [string, boolean, (sections: JobSections) => void])[] = [
  ['its model is removed', true, ({ models }) => ['sora-2', 'gpt-5'].forEach(name => delete models[name])],
  [
    'its model is repriced',
    true,
    ({ models }) => ['sora-2', 'gpt-5'].forEach(name => Object.assign(models[name] ?? {}, dear)),
  ],
  [
    'its credential is another one of that name',
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
  await t.test(`${client.name} that is open when the configuration changes`, async t => {
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
    for (const [what, canBeAsked, change] of changes) {
      const { id, requestId } = await submit(test, client)
      const { heldMicros } = await test.balance()
      const before = test.logLines.length
      const told = (): string[] =>
        test.logLines.slice(before).filter(line => line.includes('job_unanswered') && line.includes(id))

      await reload(changed(provider.origin, change))
      provider.end(id, 'done')

      if (!canBeAsked) {
        await until(() => told().length > 0)
        t.match(told()[0], /openai#1.*put it back/, `${what}: it is told what is missing`)
        t.equal((await test.balance()).heldMicros, heldMicros, `${what}: the hold stays`)
        await reload(jobConfig(provider.origin, oftenMs))
      }
      const chargeOf = async () => (await test.charges()).find(one => one.requestId === requestId)
      await until(async () => (await chargeOf()) !== undefined)
      const charge = await chargeOf()
      spent += Math.round(client.cost * 1e6)
      t.equal(Number(charge?.amount), client.cost, `${what}: it is charged by the price of its submission`)
      t.match(await test.balance(), { balanceMicros: credit - spent, heldMicros: 0 }, what)
      if (canBeAsked) t.same(told(), [], `${what}: there is nothing to tell`)
      await reload(jobConfig(provider.origin, oftenMs))
    }
    t.equal((await test.charges()).length, changes.length, 'each once')
    t.same(await test.breaches(), [])
  })
}
