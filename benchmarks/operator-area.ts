import { mkdirSync, mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addOperator } from '../lib/administration/operators.ts'
import type { Config } from '../lib/config/config.ts'
import { loadConfig } from '../lib/config/load-config.ts'
import { startGateway } from '../lib/gateway/gateway.ts'
import { createLog } from '../lib/observability/log.ts'
import { systemClock } from '../lib/platform/clock.ts'
import { openStore } from '../lib/stores/open-store.ts'
import { plugins } from '../plugins/index.ts'
import { AccountBrowser } from '../test/fixtures/account-browser.ts'
import { earlierCode } from '../test/fixtures/one-time-code.ts'
import { deskPages } from './operator-area/desk-pages.ts'
import { fillDesk } from './operator-area/fill-desk.ts'
import { measurePage } from './measure-page.ts'
import { percentile } from './percentile.ts'

// The latency of the operators' pages on a SQLite store of ten million charges, gateway and client in one process.
// `--rows 10000000`, `--repeats 40`, `--keep FOLDER` fills a store there once, and uses it again.

const boundMs = 300
const password = 'correct horse battery'

function option(name: string): string | undefined {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? undefined : process.argv[index + 1]
}

const rows = Number(option('rows') ?? 10_000_000)
const repeats = Number(option('repeats') ?? 40)

function print(line: string): void {
  writeSync(1, `${line}\n`)
}

function writeConfig(folder: string): Config {
  mkdirSync(join(folder, 'data'), { recursive: true })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `listen: { host: 127.0.0.1, port: 0 }
store: sqlite:data/gateway.db
plugins: [auth, model-router, upstream-proxy, usage-tap]
providers: { sandbox: {} }
models: { sandbox-chat: { provider: sandbox, rubPerMillion: { input: "100", output: "400" } } }
operatorArea: { listen: { host: 127.0.0.1, port: 0 } }
`,
  )
  return loadConfig(file, { env: {} }).config
}

/** Creates the store, unless an earlier run left it. Returns the token of an operator's link. */
async function prepare(config: Config): Promise<string> {
  const store = await openStore(config, { clock: systemClock })
  const { isNew } = store
  const records = await store.records()
  // A new one in each run: the second factor of an earlier one is lost.
  const operator = { email: `olga-${systemClock.now()}@example.org`, role: 'owner', by: 'benchmark' } as const
  const { token } = await addOperator(records, operator, systemClock.now())
  await store.close()
  if (isNew && config.store.kind === 'sqlite') {
    const began = performance.now()
    fillDesk(config.store.file, { rows, now: systemClock.now() })
    print(`${rows.toLocaleString('en')} charges in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  return token
}

/** Sets the password, then the second factor where there is none. */
async function signIn(url: string, token: string): Promise<AccountBrowser> {
  const browser = new AccountBrowser(url)
  const link = `/set-password?token=${token}`
  await browser.post('/set-password', { token, newPassword: password }, { from: link })
  const from = '/security'
  const { text } = await browser.post('/security/two-factor', { password }, { from })
  const secret = /id="factor-secret">([A-Z2-7]+)</.exec(text)?.[1] ?? ''
  await browser.post('/security/two-factor/confirm', { code: await earlierCode(secret) }, { from })
  return browser
}

async function measure(config: Config, token: string): Promise<number> {
  const log = createLog({ level: 'silent' })
  const gateway = await startGateway({ config, plugins, log, clock: systemClock })
  const browser = await signIn(gateway.operatorAreaUrl ?? '', token)
  let slowest = 0
  print('| page | p50 ms | p95 ms | slowest ms |\n| --- | --- | --- | --- |')
  for (const [page, path] of Object.entries(deskPages(rows, systemClock.now()))) {
    const times = await measurePage(browser, path, repeats)
    slowest = Math.max(slowest, percentile(times, 0.95))
    const cells = [percentile(times, 0.5), percentile(times, 0.95), times.at(-1) ?? 0]
    print(`| ${[page, ...cells.map(ms => ms.toFixed(1))].join(' | ')} |`)
  }
  await gateway.close(1000)
  return slowest
}

const kept = option('keep')
const folder = kept ?? mkdtempSync(join(tmpdir(), 'bench-desk-'))
try {
  const config = writeConfig(folder)
  const worst = await measure(config, await prepare(config))
  print(`The slowest page takes ${worst.toFixed(0)} ms (p95); the bound is ${boundMs} ms.`)
  process.exitCode = worst > boundMs ? 1 : 0
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true })
}
