import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/test-gateway.ts'

const root = join(import.meta.dirname, '../..')
const [openai] = dialectCalls as readonly [DialectCall]

/** Installs the package that npm packs into a folder, and returns the folder of the package. */
function install(folder: string): string {
  const variables = ['PATH', 'HOME'].map(name => `${name}=${process.env[name] ?? ''}`)
  const run = (command: string, ...words: string[]) =>
    spawnSync('env', ['-i', ...variables, command, ...words], { cwd: root, encoding: 'utf8' })
  run('npm', 'pack', '--pack-destination', folder, '--loglevel', 'error')
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  run('sh', '-c', `tar xzf "${folder}"/*.tgz -C "${modules}" && mv "${modules}/package" "${modules}/gateway"`)
  symlinkSync(join(root, 'node_modules'), join(modules, 'gateway', 'node_modules'))
  // The plugin's own dependency, as an operator installs it beside the plugin.
  symlinkSync(join(root, 'node_modules', 'zod'), join(modules, 'zod'))
  return join(modules, 'gateway')
}

await t.test(
  'an installed gateway of two workers runs plugins beside its config, and reloads them at SIGHUP',
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'gw-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const installed = install(folder)
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json'], openai.document),
    )
    const plugin = join(folder, 'block-words.ts')
    copyFileSync(join(installed, 'examples', 'block-words.ts'), plugin)
    const gateway = await serveProcess(t, {
      program: join(installed, 'bin', 'gateway'),
      // Without the test runner's NODE_OPTIONS, which load hooks into every Node.
      prefix: ['env', '-i', `PATH=${process.env['PATH'] ?? ''}`],
      config: {
        workers: 2,
        ...callConfig(upstream.origin, {}, {}),
        plugins: [
          'auth',
          'model-router',
          { [plugin]: { words: ['swordfish'] } },
          'upstream-proxy',
          'usage-tap',
        ],
      },
    })
    const ask = (text: string) =>
      send(gateway.url + openai.path(false), {
        headers: [...openai.keyHeader(gateway.key), 'content-type', 'application/json'],
        body: openai.body(false).replace('short', text),
      })
    const statuses = async (text: string): Promise<readonly number[]> =>
      (await Promise.all(Array.from({ length: 8 }, () => ask(text)))).map(answer => answer.status)

    t.same(new Set(await statuses('swordfish')), new Set([403]))
    t.same(new Set(await statuses('herring')), new Set([200]))

    writeFileSync(plugin, readFileSync(plugin, 'utf8').replace('word.toLowerCase()', "'herring'"))
    gateway.child.kill('SIGHUP')
    await until(() => gateway.written().includes('the configuration was read again'))
    t.same(new Set(await statuses('herring')), new Set([403]))
    t.same(new Set(await statuses('swordfish')), new Set([200]))

    writeFileSync(plugin, 'export const broken = {')
    gateway.child.kill('SIGHUP')
    await until(() => gateway.written().includes('block-words.ts cannot be loaded'))
    t.same(new Set(await statuses('herring')), new Set([403]), 'the previous plugin stays')

    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    t.match(metrics, /^gateway_plugin_block_words_refusals_total \d+$/m)
    t.same(await gateway.breaches(), [])
  },
)
