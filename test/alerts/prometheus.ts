import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/free-port.ts'

/** An alert in Prometheus's format. */
interface SeenAlert {
  readonly state: 'pending' | 'firing'
  readonly labels: Readonly<Record<string, string>>
}

const rulesFile = join(import.meta.dirname, '../../deploy/prometheus-rules.yml')

/** Whether Prometheus is installed; root on Debian installs it. */
export function findPrometheus(): boolean {
  const isThere = (): boolean => spawnSync('prometheus', ['--version']).error === undefined
  if (isThere()) return true
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).error !== undefined) return false
  spawnSync('apt-get', ['update'], { stdio: 'ignore' })
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'prometheus'], { stdio: 'ignore' })
  return isThere()
}

export function shippedRules(): string {
  return readFileSync(rulesFile, 'utf8')
}

/** The names of the shipped alerts. */
export function alertNames(): readonly string[] {
  return [...shippedRules().matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '')
}

/**
 * The shipped rules with shorter times, so that a test need not wait for them: `for` is fifteen seconds, and the ranges
 * are `range`. Expressions and thresholds stay.
 */
export function shortenedRules(range: string): string {
  return shippedRules()
    .replaceAll(/^(\s+for: ).+$/gm, (_, key: string) => `${key}15s`)
    .replaceAll(/\[\d+[mh]\]/g, `[${range}]`)
}

/** Prometheus on loopback, which scrapes these targets at an interval that is also its timeout, with these rules. */
export async function startPrometheus(
  t: Test,
  rules: readonly string[],
  targets: readonly string[],
  scrapeSeconds: number,
): Promise<{
  /** Alerts that fire now, by name and instance: `GatewayDown 127.0.0.1:9090`. Rules that sum have no instance. */
  firing(): Promise<readonly string[]>
}> {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  for (const [index, text] of rules.entries()) writeFileSync(join(folder, `${index}.rules.yml`), text)
  const config = {
    global: {
      scrape_interval: `${scrapeSeconds}s`,
      scrape_timeout: `${scrapeSeconds}s`,
      evaluation_interval: '1s',
    },
    rule_files: ['*.rules.yml'],
    scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets }] }],
  }
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  t.teardown(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true, 60_000)
  return {
    async firing() {
      const response = await fetch(`${url}/api/v1/alerts`)
      const { data } = (await response.json()) as { data: { alerts: readonly SeenAlert[] } }
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => `${labels['alertname']} ${labels['instance'] ?? ''}`)
    },
  }
}
