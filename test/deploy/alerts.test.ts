import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { alarmCodes } from '../../lib/pipeline/alarm-codes.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const folder = join(import.meta.dirname, '../../deploy')
const rulesText = readFileSync(join(folder, 'prometheus-rules.yml'), 'utf8')
const rules = (parse(rulesText) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups.flatMap(
  group => group.rules,
)
const dashboardText = readFileSync(join(folder, 'grafana-dashboard.json'), 'utf8')
const dashboard = JSON.parse(dashboardText) as { panels: { targets: { expr: string }[] }[] }

await t.test('rules and dashboard name only metrics that the gateway has', async t => {
  const gateway = await startTestGateway(t, {
    config: {
      providers: { sandbox: {} },
      admin: { listen: { host: '127.0.0.1', port: 0 } },
      payments: { provider: 'sandbox' },
      accountArea: { listen: { host: '127.0.0.1', port: 0 } },
    },
  })
  const text = await (await fetch(`${gateway.gateway.adminUrl ?? ''}/metrics`)).text()
  const said = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name ?? ''))
  const exprs = [
    ...rules.map(({ expr }) => expr),
    ...dashboard.panels.flatMap(one => one.targets.map(of => of.expr)),
  ]
  const named = new Set(exprs.flatMap(expr => [...expr.matchAll(/\bgateway_\w+/g)].map(([name]) => name)))
  t.ok(named.size > 15)
  for (const name of named) t.ok(said.has(name.replace(/_bucket$/, '')), name)
})

await t.test('the codes of alarms in rules exist', t => {
  const codes: readonly string[] = alarmCodes
  for (const [, matcher = ''] of rulesText.matchAll(/code=~?"([^"]+)"/g)) {
    for (const one of matcher.split('|')) {
      const pattern = new RegExp(`^${one}$`)
      t.ok(
        codes.some(code => pattern.test(code)),
        one,
      )
    }
  }
  t.end()
})

await t.test('each rule has a test that makes it fire, and one that keeps it silent', t => {
  const { tests } = parse(readFileSync(join(folder, 'prometheus-rules.test.yml'), 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
  }
  const cases = tests.flatMap(one => one.alert_rule_test)
  for (const { alert } of rules) {
    const own = cases.filter(one => one.alertname === alert)
    t.ok(own.some(one => one.exp_alerts.length > 0) && own.some(one => one.exp_alerts.length === 0), alert)
  }
  t.end()
})

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

await t.test(
  'Prometheus fires each rule for its cause',
  { skip: hasPromtool ? false : 'promtool is not installed: apt-get install prometheus' },
  t => {
    for (const words of [
      ['check', 'rules', 'prometheus-rules.yml'],
      ['test', 'rules', 'prometheus-rules.test.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', words, { cwd: folder, encoding: 'utf8' })
      t.equal(status, 0, `${stdout}${stderr}`)
    }
    t.end()
  },
)
