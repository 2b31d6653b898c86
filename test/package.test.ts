import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

t.test('what npm packs is a gateway that runs under node_modules, where Node strips no types', async t => {
  const folder = t.testdir()
  execFileSync('npm', ['pack', '--pack-destination', folder, '--loglevel', 'error'], { cwd: root })
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  execFileSync('sh', [
    '-c',
    `tar xzf "${folder}"/*.tgz -C "${modules}" && mv "${modules}/package" "${modules}/gateway"`,
  ])
  // In place of an install: the dependencies as they are here.
  symlinkSync(join(root, 'node_modules'), join(modules, 'gateway', 'node_modules'))
  const program = join(modules, 'gateway', 'bin', 'gateway')

  const check = spawnSync(process.execPath, [program, 'check'], { encoding: 'utf8', env: {} })

  t.equal(check.status, 0, check.stderr)
  t.match(check.stdout, /gateway\.yaml is in order/)
})

t.test('an old Node is told so in one line', async t => {
  // Reads the program with a version as Node 20 would report it.
  const script = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' }); await import(${JSON.stringify(`file://${root}/bin/gateway`)})`

  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })

  t.equal(run.status, 1)
  t.match(run.stderr, /^gateway: Node\.js 20\.20\.2 is too old, 24\.12 or newer is needed: \S+\n$/)
})
