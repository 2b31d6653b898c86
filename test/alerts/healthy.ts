import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { startHealthy } from './healthy-gateway.ts'
import { findPrometheus, shortenedRules, shippedRules, startPrometheus } from './prometheus.ts'

// Healthy traffic for `--healthy-minutes`, an hour by default: no rule of deploy/ fires in a real
// Prometheus, neither with its own times nor with shortened ones, and no alarm is raised.

const index = process.argv.indexOf('--healthy-minutes')
const healthyMinutes = index === -1 ? 60 : Number(process.argv[index + 1])
// Prometheus's timeout as shipped: on a machine that is busy with other work a response may take seconds.
const scrapeSeconds = 10
const businessEveryMs = 300_000
t.setTimeout(0)
const skip = findPrometheus() ? false : 'prometheus is not installed: apt-get install prometheus'

await t.test(
  `no alert fires and no alarm is raised in ${healthyMinutes} minutes of healthy traffic`,
  { skip, timeout: 0 },
  async t => {
    const healthy = await startHealthy(t)
    const { test } = healthy
    const adminUrl = test.gateway.adminUrl ?? ''
    const rules = [shippedRules(), shortenedRules('1m')]
    const prometheus = await startPrometheus(t, rules, [new URL(adminUrl).host], scrapeSeconds)
    const alerts = new Set<string>()
    const statuses = new Map<number | undefined, number>()
    const beganMs = performance.now()
    let businessAtMs = beganMs
    while (performance.now() - beganMs < healthyMinutes * 60_000) {
      if (performance.now() >= businessAtMs) {
        businessAtMs += businessEveryMs
        await healthy.business()
      }
      for (const status of await healthy.second()) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      for (const one of await prometheus.firing()) alerts.add(one)
      await delay(1000)
    }

    t.comment(`statuses: ${JSON.stringify([...statuses])}`)
    t.same([...alerts], [], 'no alert fires')
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    const raised = metrics.match(/^gateway_alarms_total\{.*\} [^0].*$/gm)
    t.same(raised, null, 'no alarm is counted')
    const { stdout } = await runHere(['alarms', '--all', '--json', '--config', test.configFile])
    t.equal(stdout.trim(), '', 'no alarm is listed')
    t.ok((statuses.get(200) ?? 0) >= healthyMinutes * 60, 'requests were served')
    t.same(await test.breaches(), [], 'the ledger is in order')
  },
)
