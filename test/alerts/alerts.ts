import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { houseFaults } from './faults/house-faults.ts'
import { moneyFaults } from './faults/money-faults.ts'
import { providerFaults } from './faults/provider-faults.ts'
import { startHealthy } from './healthy-gateway.ts'
import { alertNames, findPrometheus, shortenedRules, startPrometheus } from './prometheus.ts'

// Each alert rule of deploy/ in a real Prometheus, over gateways with real faults. Words of arguments select alerts.
// Where Debian's package is missing, root installs it; root also mounts a small disk to fill.

const words = process.argv.slice(2)
const fireMs = 180_000
t.setTimeout(0)
const skip = findPrometheus() ? false : 'prometheus is not installed: apt-get install prometheus'
const faults = [...houseFaults, ...providerFaults, ...moneyFaults]

await t.test('each rule has a fault that makes it fire', t => {
  t.same(
    alertNames().filter(name => !faults.some(({ alert }) => alert === name)),
    [],
  )
  t.end()
})

await t.test(
  'each rule fires for its cause, and no rule fires for a healthy gateway',
  { skip, timeout: 0 },
  async t => {
    const healthy = await startHealthy(t)
    const started = []
    for (const fault of faults.filter(
      ({ alert }) => words.length === 0 || words.some(word => alert.includes(word)),
    )) {
      started.push({ ...fault, ...(await fault.start(t)) })
    }
    const targets = [healthy.test.gateway.adminUrl ?? '', ...started.map(one => one.adminUrl)].map(
      url => new URL(url).host,
    )
    const prometheus = await startPrometheus(t, [shortenedRules('3m')], targets, 5)
    // Every series must have been scraped at 0 first.
    await delay(15_000)
    t.same(await prometheus.firing(), [], 'no rule fires before the faults')
    for (const one of started) void one.strike()

    // All are polled together: sums over some minutes are over before the slowest rule has fired.
    const seen = new Set<string>()
    const expected = started.map(({ alert }, index) => ({ alert, instance: targets[index + 1] ?? '' }))
    // Rules that sum over gateways have no instance.
    const hasFired = ({ alert, instance }: (typeof expected)[number]): boolean =>
      seen.has(`${alert} ${instance}`) || seen.has(`${alert} `)
    const endMs = performance.now() + fireMs
    while (performance.now() < endMs && !expected.every(hasFired)) {
      await healthy.second()
      for (const one of await prometheus.firing()) seen.add(one)
      await delay(1000)
    }
    for (const [index, { alert, cause }] of started.entries())
      t.ok(hasFired({ alert, instance: targets[index + 1] ?? '' }), `${alert}: ${cause}`)
    const [healthyTarget = ''] = targets
    t.same(
      [...seen].filter(one => one.endsWith(` ${healthyTarget}`)),
      [],
      'no rule fires for the healthy gateway',
    )
  },
)
