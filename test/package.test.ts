import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'

const root = join(import.meta.dirname, '..')

/** Runs a program without the test runner's NODE_OPTIONS, which load hooks into every Node process. */
function run(command: string, ...values: string[]) {
  const variables = ['PATH', 'HOME'].map(name => `${name}=${process.env[name] ?? ''}`)
  return spawnSync('env', ['-i', ...variables, command, ...values], { cwd: root, encoding: 'utf8' })
}

t.test('the npm package is a gateway that runs under node_modules, where Node strips no types', async t => {
  const folder = t.testdir()
  const packed = run('npm', 'pack', '--pack-destination', folder, '--loglevel', 'error')
  t.equal(packed.status, 0, packed.stderr)
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  run('sh', '-c', `tar xzf "${folder}"/*.tgz -C "${modules}" && mv "${modules}/package" "${modules}/gateway"`)
  // Instead of an installation: the dependencies of this checkout.
  symlinkSync(join(root, 'node_modules'), join(modules, 'gateway', 'node_modules'))

  const check = run(process.execPath, join(modules, 'gateway', 'bin', 'gateway'), 'check')

  t.equal(check.status, 0, check.stderr)
  t.match(check.stdout, /gateway\.yaml is in order/)
  const styles = globSync('lib/*/view/*.css', { cwd: root })
  t.equal(styles.length, 3)
  t.same(
    styles.filter(path => !existsSync(join(modules, 'gateway', 'dist', path))),
    [],
    'the pages have their styles',
  )
})

t.test('a signal to npm start ends the gateway, not only the shell between', async t => {
  const config = join(t.testdir(), 'gateway.yaml')
  const shipped = JSON.stringify(join(root, 'config', 'gateway.yaml'))
  const quiet = 'listen: { port: 0 }\nadmin: null\naccountArea: null\nstore: sqlite:g.db\n'
  writeFileSync(config, `include: [${shipped}]\n${quiet}`)
  const variables = ['PATH', 'HOME'].map(name => `${name}=${process.env[name] ?? ''}`)
  const started = ['-i', ...variables, `GATEWAY_CONFIG=${config}`, 'npm', 'start']
  // A process group of its own, so that none of its processes outlives the test.
  const child = spawn('env', started, { cwd: root, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // The whole group has ended.
    }
  })
  for await (const line of createInterface(child.stderr)) if (line.includes('"listening"')) break
  child.stderr.resume()

  child.kill('SIGTERM')
  // Emitted only when no process has standard error open any more.
  const ending: unknown[] = await once(child, 'close')

  t.same(ending, [0, null])
})

t.test('an old Node gets an explanation in one line', async t => {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`
  const script = `${pretend}; await import(${JSON.stringify(`file://${root}/bin/gateway`)})`

  const { status, stderr } = run(process.execPath, '--input-type=module', '-e', script)

  t.equal(status, 1)
  t.match(stderr, /^gateway: Node\.js 20\.20\.2 is too old, 24\.12 or newer is needed: \S+\n$/)
})

t.test('the lockfile tells npm 10 that better-sqlite3 needs no compiler', async t => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { gypfile?: boolean }>
  }

  t.equal(lock.packages['node_modules/better-sqlite3']?.gypfile, false, 'run node .ci/keep-gypfile.mjs')
})

t.test(
  'the lockfile says that packages with a binding.gyp and prebuilt binaries are not compiled',
  async t => {
    const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { gypfile?: boolean; hasInstallScript?: boolean } | undefined>
    }
    const withSources = Object.keys(lockfile.packages).filter(
      path => path !== '' && existsSync(join(root, path, 'binding.gyp')),
    )

    t.ok(withSources.includes('node_modules/better-sqlite3'))
    for (const path of withSources) {
      // The npm 10 of Node 20 and 22 would otherwise look for Python and a compiler.
      t.equal(lockfile.packages[path]?.gypfile, false, path)
    }
  },
)
