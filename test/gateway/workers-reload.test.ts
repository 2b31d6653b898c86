import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { startTwoWorkers } from '../fixtures/two-workers.ts'
import { until } from '../fixtures/until.ts'
import { workerPids } from '../fixtures/worker-pids.ts'

await t.test('a new configuration reaches all workers, and an invalid one reaches none', async t => {
  const gateway = await startTwoWorkers(t)
  await gateway.allListen()
  const config = readFileSync(gateway.configFile, 'utf8')
  const statuses = async (): Promise<number[]> =>
    (await Promise.all(Array.from({ length: 6 }, () => gateway.ask()))).map(({ status }) => status)
  const reload = async (text: string, message: RegExp): Promise<void> => {
    const logged = (): number => gateway.lines().filter(line => message.test(String(line['msg']))).length
    const before = logged()
    writeFileSync(gateway.configFile, text)
    gateway.child.kill('SIGHUP')
    await until(() => logged() > before)
  }
  const changed = config.replace(/"?\*"?:\n/, 'other-model:\n')
  t.not(changed, config)
  await reload(changed, /was read again/)
  t.strictSame(new Set(await statuses()), new Set([404]))
  // Without a router no plugin sets the target, so the pipeline refuses it.
  await reload(`${config}plugins: [auth, upstream-proxy, usage-tap]\n`, /the old one stays/)
  t.strictSame(new Set(await statuses()), new Set([404]))
  const [lost = 0] = workerPids(gateway.written()).values()
  process.kill(lost, 'SIGKILL')
  await gateway.allListen([lost])
  t.strictSame(new Set(await statuses()), new Set([404]), 'also for a worker that was started since')
  await reload(config, /was read again/)
  t.strictSame(new Set(await statuses()), new Set([200]))
})
