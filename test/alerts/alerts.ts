import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { ask, faults, startHealthy } from './faults.ts'
import { findPrometheus, hastenedRules, startPrometheus } from './prometheus.ts'

// Each alert rule of deploy/ under a real Prometheus, over gateways with real faults; and none over healthy traffic, for as
// long as `--healthy-minutes` says. A word of an alert's name chooses. Debian's package is installed where it is missing and root runs this.

const { values, positionals } = parseArgs({
  options: { 'healthy-minutes': { type: 'string', default: '60' } },
  allowPositionals: true,
})
const healthyMinutes = Number(values['healthy-minutes'])
const fireMs = 180_000
t.setTimeout(0)
const skip = findPrometheus() ? false : 'prometheus is not here: apt-get install prometheus'

await t.test(
  'each rule fires for its cause, and none of a gateway that is well',
  { skip, timeout: 0 },
  async t => {
    const healthy = await startHealthy(t)
    const started = []
    for (const fault of faults.filter(({ alert }) => positionals.every(word => alert.includes(word)))) {
      started.push({ ...fault, ...(await fault.start(t)) })
    }
    const targetOf = (adminUrl: string | undefined): string => new URL(adminUrl ?? '').host
    const targets = [healthy, ...started.map(one => one.gateway)].map(one => targetOf(one.gateway.adminUrl))
    const prometheus = await startPrometheus(t, hastenedRules('3m'), targets)
    const firing = async (): Promise<readonly string[]> =>
      (await prometheus.alerts())
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => `${labels['alertname']} ${labels['instance'] ?? ''}`)

    // Every series must have been seen at 0.
    await delay(10_000)
    t.same(await firing(), [], 'nothing fires before')
    for (const one of started) void one.strike()

    const [healthyTarget = ''] = targets
    for (const [index, { alert, cause }] of started.entries()) {
      const instance = targets[index + 1] ?? ''
      // Rules that add up over gateways name none.
      const isSeen = async (): Promise<boolean> =>
        (await firing()).some(one => one === `${alert} ${instance}` || one === `${alert} `)
      const hasFired = await until(isSeen, fireMs).then(
        () => true,
        () => false,
      )
      t.ok(hasFired, `${alert}: ${cause}`)
      await ask(healthy, 'sandbox-chat')
    }
    t.notOk(
      (await firing()).some(one => one.endsWith(` ${healthyTarget}`)),
      'the gateway that is well is silent',
    )
  },
)

await t.test(
  `nothing fires in ${healthyMinutes} minutes of healthy traffic`,
  { skip, timeout: 0 },
  async t => {
    const healthy = await startHealthy(t)
    // A look back on less than a scrape or two would see nothing; the rules' own times would see no less.
    const prometheus = await startPrometheus(t, hastenedRules('1m'), [
      new URL(healthy.gateway.adminUrl ?? '').host,
    ])
    const seen = new Set<string>()
    let asked = 0
    const endMs = performance.now() + healthyMinutes * 60_000
    while (performance.now() < endMs) {
      const statuses = await Promise.all(Array.from({ length: 5 }, () => ask(healthy, 'sandbox-chat')))
      asked += statuses.filter(status => status === 200).length
      for (const { labels } of await prometheus.alerts()) seen.add(labels['alertname'] ?? '')
      await delay(1000)
    }

    t.same([...seen], [])
    t.ok(asked >= healthyMinutes * 60, `${asked} requests were answered`)
  },
)
